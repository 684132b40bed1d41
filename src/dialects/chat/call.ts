/** Common parts of the chat readers and of the chat writers. */
import { AiError } from "../../core/errors.ts";
import { can, type Model } from "../../models/model.ts";
import type { Answer, TaskAnswer, TaskCall } from "../../tasks/task.ts";
import type { ChatCompletion, ChatInput } from "../../tasks/text-generation/types.ts";
import type { EventWriter, WriteContext, Writer } from "../dialect.ts";
import { invalidInput } from "../invalid-input.ts";
import { completionToChunks } from "./chunks.ts";
import { repairForcedCall } from "./forced-call.ts";

/** Throws 5005 for a model without adapters. A request with an adapter is never answered without it. */
export function checkLora({ lora }: { lora?: string | null | undefined }, model: Model): void {
	if (lora != null && !can(model, "lora"))
		throw new AiError("loraUnsupported", `The model ${model.id} does not support LoRa inference`);
}

/**
 * The last step of every chat reader. Throws 8001 for inputs that the product's schemas accept and engines cannot use. A negative
 * limit would also make the reservation negative.
 */
export function chatCall(input: ChatInput): TaskCall<"text-generation"> {
	if (input.prompt === undefined && input.messages.length === 0)
		throw invalidInput("messages must not be empty");
	if (input.max_tokens !== undefined && input.max_tokens < 1)
		throw invalidInput("max_tokens must be at least 1");
	return { task: "text-generation", input };
}

/** The call with another input. A call of another task stays as it is. */
export const withChatInput = (call: TaskCall, change: (input: ChatInput) => ChatInput): TaskCall =>
	call.task === "text-generation" ? chatCall(change(call.input)) : call;

/** An answer for a chat writer. */
export const chatAnswer = (answer: Answer<"text-generation">): TaskAnswer => ({
	task: "text-generation",
	answer,
});

export type ChatReply =
	| { kind: "value"; input: ChatInput; completion: ChatCompletion }
	/**
	 * `hasErrorFrame`: the stream is sent unchanged. It already ends with an error event if it failed (`Answer.ended`).
	 */
	| { kind: "stream"; input: ChatInput; events: ReadableStream<Uint8Array>; hasErrorFrame?: true };

/** The answer as a stream if the caller requested one. Some engines answer such a request with a complete value. */
export function chatReply(taskAnswer: TaskAnswer, context: WriteContext): ChatReply {
	const { call } = context;
	if (taskAnswer.task !== "text-generation" || call.task !== "text-generation")
		throw new TypeError(`A chat writer received an answer to ${taskAnswer.task}`);
	const { input } = call;
	const { answer: sent } = taskAnswer;
	const answer = input.tool_choice === undefined ? sent : repairForcedCall(sent, input, context);
	if (answer.kind === "stream")
		return { kind: "stream", input, events: answer.events, ...(answer.ended && { hasErrorFrame: true }) };
	return input.stream
		? { kind: "stream", input, events: completionToChunks(answer.output) }
		: { kind: "value", input, completion: answer.output };
}

interface ChatFormat {
	/** The JSON of a complete answer. */
	value(completion: ChatCompletion, context: WriteContext, input: ChatInput): unknown;
	events: EventWriter;
}

export const chatWriter = ({ value, events }: ChatFormat): Writer => ({
	write(answer, context) {
		const reply = chatReply(answer, context);
		return reply.kind === "stream"
			? { kind: "events", events: events(reply.events, context) }
			: { kind: "json", value: value(reply.completion, context, reply.input) };
	},
});
