/** Builds the request that asks a second engine for the rest of an answer. Pure. */
import { type ChatInput, requestsAudio } from "../../tasks/text-generation/types.ts";
import type { PlannedTarget } from "../plan.ts";
import type { Segment, Transcript } from "./transcript.ts";

export interface ContinuationRequest {
	input: ChatInput;
	/** The part of the transcript that the answer will repeat. */
	expected: readonly Segment[];
	/** The engine receives the text so far and continues it. Otherwise it answers the original request again. */
	continues: boolean;
}

/**
 * Whether an interrupted answer can be joined to another one. Not several choices at once, nor data of single tokens, nor
 * audio: such chunks cannot be cut where the first answer was.
 */
export function isJoinable(input: ChatInput): boolean {
	const { n = 1, logprobs } = input;
	return n === 1 && !logprobs && !requestsAudio(input);
}

/** In the order to try. Sampling and seed are the same, so that the same engine would repeat the same text. */
export function continuationRequests(
	target: PlannedTarget,
	input: ChatInput,
	transcript: Transcript,
	earlierTokens: number,
): ContinuationRequest[] {
	if (target.continues === false) return [];
	const repeat: ContinuationRequest = { input, expected: transcript.segments, continues: false };
	const continued = continuation(target, input, transcript, earlierTokens);
	return continued ? [continued, repeat] : [repeat];
}

function continuation(
	{ continues }: PlannedTarget,
	input: ChatInput,
	transcript: Transcript,
	earlierTokens: number,
): ContinuationRequest | undefined {
	const text = transcript.text("content");
	// An unfinished message cannot hold reasoning or tool calls, and a grammar would start again.
	const isPlain = transcript.segments.every(({ channel }) => channel === "content");
	const isConstrained = input.response_format !== undefined && input.response_format.type !== "text";
	if (!continues || text === "" || !isPlain || isConstrained || input.suffix !== undefined) return undefined;

	const limit =
		input.max_tokens === undefined ? {} : { max_tokens: Math.max(1, input.max_tokens - earlierTokens) };
	if (input.prompt !== undefined)
		return { input: { ...input, ...limit, prompt: input.prompt + text }, expected: [], continues: true };
	// Anthropic refuses a message that ends in white space. The engine must then write that white space first.
	const content = continues === "prefill" ? text.trimEnd() : text;
	const cutOff = text.slice(content.length);
	if (content === "") return undefined;
	const messages: ChatInput["messages"] = [...input.messages, { role: "assistant", content }];
	const vllmFields =
		continues === "vllm"
			? {
					passthrough: {
						...input.passthrough,
						continue_final_message: true,
						add_generation_prompt: false,
					},
				}
			: {};
	return {
		input: { ...input, ...limit, ...vllmFields, messages },
		expected: cutOff === "" ? [] : [{ channel: "content", text: cutOff }],
		continues: true,
	};
}
