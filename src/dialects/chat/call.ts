/** Where every chat reader ends and every chat writer begins. */
import type { TaskAnswer, TaskCall } from "../../tasks/task.ts";
import type { ChatCompletion, ChatInput } from "../../tasks/text-generation/types.ts";
import type { WriteContext } from "../dialect.ts";
import { completionToChunks } from "./chunks.ts";
import { invalidInput } from "./errors.ts";
import { mendForcedCall } from "./forced-call.ts";

/** Refuses what no schema of the product refuses and no engine can answer: the meter would reserve less than nothing. */
export function chatCall(input: ChatInput): TaskCall<"text-generation"> {
	if (input.prompt === undefined && input.messages.length === 0)
		throw invalidInput("messages must not be empty");
	if (input.max_tokens !== undefined && input.max_tokens < 1)
		throw invalidInput("max_tokens must be at least 1");
	return { task: "text-generation", input };
}

export type ChatReply =
	| { kind: "value"; input: ChatInput; completion: ChatCompletion }
	/** `asIs`: it has its last words already. */
	| { kind: "stream"; input: ChatInput; events: ReadableStream<Uint8Array>; asIs?: true };

/** An answer in the way it was asked for: engines may answer a request for a stream with a value. */
export function chatReply(answered: TaskAnswer, context: WriteContext): ChatReply {
	const { call } = context;
	if (answered.task !== "text-generation" || call.task !== "text-generation")
		throw new TypeError(`A chat writer was given an answer to ${answered.task}`);
	const { input } = call;
	const answer = mendForcedCall(answered.answer, input, context);
	if (answer.kind === "stream")
		return { kind: "stream", input, events: answer.events, ...(answer.ended && { asIs: true }) };
	return input.stream
		? { kind: "stream", input, events: completionToChunks(answer.output) }
		: { kind: "value", input, completion: answer.output };
}
