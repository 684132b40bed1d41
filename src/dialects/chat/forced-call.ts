/**
 * Repairs a known fault of the gpt-oss models: if the request forces one tool, they may write the call as JSON into the
 * text and make no call. Then a JSON object in the text becomes the call.
 */
import { isRecord, parseRecord } from "../../core/json.ts";
import { outputFamily } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import { DONE, frame, mapEvents } from "../../streams/sse.ts";
import type { Answer } from "../../tasks/task.ts";
import type {
	AssistantMessage,
	ChatChunk,
	ChatCompletion,
	ChatInput,
	ToolCall,
} from "../../tasks/text-generation/types.ts";
import type { WriteContext } from "../dialect.ts";
import { firstChoice, parseChunk } from "./chunks.ts";

type ChatAnswer = Answer<"text-generation">;

/** Takes over `answer`. Returns it unchanged for other models and for requests that force no tool. */
export function repairForcedCall(
	answer: ChatAnswer,
	input: ChatInput,
	{ model, uuid }: Pick<WriteContext, "model" | "uuid">,
): ChatAnswer {
	const forced = toolToRepair(input, model);
	if (forced === undefined) return answer;
	const callIn = (text: string) => readCall(text, forced, uuid);
	return answer.kind === "stream"
		? { ...answer, events: repairEvents(answer.events, callIn) }
		: { kind: "value", output: repairCompletion(answer.output, callIn) };
}

/** Whether {@link repairForcedCall} must read the answer. */
export const mayRepairForcedCall = (input: ChatInput, model: Model): boolean =>
	toolToRepair(input, model) !== undefined;

const toolToRepair = (input: ChatInput, model: Pick<Model, "output">): string | undefined =>
	outputFamily(model).mayWriteCallsAsText ? forcedTool(input) : undefined;

type CallIn = (text: string) => ToolCall | undefined;

function forcedTool({ tool_choice, tools }: ChatInput): string | undefined {
	if (typeof tool_choice === "object")
		return tool_choice.type === "function" ? tool_choice.function.name : undefined;
	return tool_choice === "required" && tools?.length === 1 ? tools[0]?.function.name : undefined;
}

function readCall(text: string, name: string, uuid: () => string): ToolCall | undefined {
	const args = argumentsIn(text, name);
	if (args === undefined) return undefined;
	const id = `call_${uuid().replaceAll("-", "")}`;
	return { id, type: "function", function: { name, arguments: args } };
}

/** `text` contains only the arguments, or a call in one of the forms that models write. */
function argumentsIn(text: string, name: string): string | undefined {
	const value = parseRecord(text);
	if (!value) return undefined;
	const inner = value.name === name ? (value.arguments ?? value.parameters) : undefined;
	if (isRecord(inner)) return JSON.stringify(inner);
	if (typeof inner === "string" && parseRecord(inner)) return inner;
	// The original text, because its numbers may exceed JavaScript's precision.
	return text.trim();
}

function repairCompletion(completion: ChatCompletion, callIn: CallIn): ChatCompletion {
	const choices = completion.choices.map((choice) => {
		const { tool_calls, content } = choice.message;
		const found = tool_calls?.length ? undefined : callIn(content ?? "");
		if (!found) return choice;
		const message: AssistantMessage = { ...choice.message, content: null, tool_calls: [found] };
		return { ...choice, message, finish_reason: "tool_calls" };
	});
	return { ...completion, choices };
}

/** Holds text back until the first call or the end of the stream shows whether it is a call. */
function repairEvents(source: ReadableStream<Uint8Array>, callIn: CallIn): ReadableStream<Uint8Array> {
	let held = "";
	let calls = false;
	let last: ChatChunk | undefined;
	const release = (): string => {
		if (!held) return "";
		const delta = { content: held };
		held = "";
		return frame({ ...last, choices: [{ index: 0, delta, finish_reason: null }], usage: null });
	};
	return mapEvents(source, {
		onData(data, value) {
			const chunk = parseChunk(data, value);
			if (chunk === "done") return release() + DONE;
			last = chunk;
			const choice = firstChoice(chunk);
			if (!choice) return frame(chunk);
			const { delta } = choice;
			calls ||= (delta.tool_calls?.length ?? 0) > 0;
			if (!calls && delta.content) {
				held += delta.content;
				delta.content = "";
			}
			if (calls) return release() + frame(chunk);
			if (!choice.finish_reason) return frame(chunk);
			const found = callIn(held);
			if (!found) return release() + frame(chunk);
			held = "";
			delta.tool_calls = [{ index: 0, ...found }];
			choice.finish_reason = "tool_calls";
			return frame(chunk);
		},
		onEnd: release,
		onFailure: release,
	});
}
