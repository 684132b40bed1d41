/** Reads the body of a complete chat reply. Some hosts answer with a stream although none was requested: its chunks are collected. */
import { isRecord, parseJson } from "../../../core/json.ts";
import { isDone } from "../../../streams/sse.ts";
import type { ChatDelta } from "../../../tasks/text-generation/types.ts";
import { isErrorBody } from "../../transport/error-body.ts";
import { ChatEventReader } from "./chat-events.ts";
import type { ToolCallContext } from "./sent-calls.ts";

interface CollectedChoice {
	index: number;
	message: Record<string, unknown> & { tool_calls?: CollectedCall[] };
	finish_reason: string | null;
}

interface CollectedCall extends Record<string, unknown> {
	function: { name: string; arguments: string };
}

/** Returns a parser for the text of a reply: JSON, or events. An error event is returned as it is. */
export const chatReplyParser =
	(context: ToolCallContext) =>
	(text: string): unknown => {
		const parsed = parseJson(text.replace(/^\uFEFF/, ""));
		return parsed === undefined ? collect(text, new ChatEventReader(context)) : parsed;
	};

/** `undefined`: the text has no events. */
function collect(text: string, reader: ChatEventReader): unknown {
	let heading: Record<string, unknown> | undefined;
	let usage: unknown;
	let isDoneSent = false;
	const choices = new Map<number, CollectedChoice>();
	const add = (chunk: Record<string, unknown>): void => {
		heading ??= chunk;
		usage = chunk.usage ?? usage;
		for (const { index, delta, finish_reason } of chunk.choices as ChunkChoices) {
			const choice = choices.get(index) ?? { index, message: {}, finish_reason: null };
			choices.set(index, choice);
			addDelta(choice.message, delta);
			choice.finish_reason = finish_reason ?? choice.finish_reason;
		}
	};
	for (const line of text.split(/\r?\n/)) {
		const data = line.replace(/^data:/, "").trim();
		isDoneSent ||= isDone(data);
		const sent = parseJson(data);
		if (isErrorBody(sent)) return sent;
		if (!isRecord(sent)) continue;
		const read = reader.read(sent);
		if (read.kind === "failed") return { error: read.error ?? { message: "The answer failed" } };
		if (read.kind === "chunk") add(read.chunk);
	}
	const open = isDoneSent ? reader.end() : undefined;
	if (open) add({ ...open });
	const list = [...choices.values()];
	if (!heading || list.some(({ finish_reason }) => finish_reason === null)) return undefined;
	return { ...heading, choices: list, usage };
}

type ChunkChoices = { index: number; delta: ChatDelta; finish_reason?: string | null }[];

const TEXTS = ["content", "reasoning_content", "reasoning", "refusal"] as const;

function addDelta(message: CollectedChoice["message"], delta: ChatDelta): void {
	for (const field of TEXTS) {
		const text = delta[field];
		if (typeof text === "string") message[field] = `${message[field] ?? ""}${text}`;
	}
	for (const { index, function: called, ...fields } of delta.tool_calls ?? []) {
		message.tool_calls ??= [];
		message.tool_calls[index] ??= { function: { name: "", arguments: "" } };
		const call = message.tool_calls[index];
		Object.assign(call, fields);
		call.function.name ||= called?.name ?? "";
		call.function.arguments += called?.arguments || "";
	}
}
