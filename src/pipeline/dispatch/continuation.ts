/** How a second engine is asked for the rest of an answer. Pure. */

import { asksForAudio, type ChatInput } from "../../tasks/text-generation/types.ts";
import type { PlannedTarget } from "../plan.ts";
import type { Said, Segment } from "./transcript.ts";

export interface Question {
	input: ChatInput;
	/** What its answer will repeat of what was said. */
	expected: readonly Segment[];
	/** It is told what was said, and goes on from there. */
	continues: boolean;
}

/**
 * Whether what was cut can be joined to another answer. Not of several answers at once, nor of what belongs to single
 * tokens or is no text: chunks of those cannot be cut where the first answer was.
 */
export function isJoinable(input: ChatInput): boolean {
	const { n = 1, logprobs } = input;
	return n === 1 && !logprobs && !asksForAudio(input);
}

/** In the order to try. The same sampling and seed, so that the same engine would say the same again. */
export function questionsFor(
	target: PlannedTarget,
	input: ChatInput,
	said: Said,
	saidTokens: number,
): Question[] {
	const again: Question = { input, expected: said.segments, continues: false };
	const continued = continuation(target, input, said, saidTokens);
	return continued ? [continued, again] : [again];
}

function continuation(
	{ continues }: PlannedTarget,
	input: ChatInput,
	said: Said,
	saidTokens: number,
): Question | undefined {
	const text = said.text("content");
	// Thoughts and calls have no place in a message that is not finished, and a grammar would begin anew.
	const plain = said.segments.every(({ channel }) => channel === "content");
	const constrained = input.response_format !== undefined && input.response_format.type !== "text";
	if (!continues || text === "" || !plain || constrained || input.suffix !== undefined) return undefined;

	const left =
		input.max_tokens === undefined ? {} : { max_tokens: Math.max(1, input.max_tokens - saidTokens) };
	if (input.prompt !== undefined)
		return { input: { ...input, ...left, prompt: input.prompt + text }, expected: [], continues: true };
	// Anthropic refuses a message that ends in white space; what is kept from it, it must say first.
	const content = continues === "prefill" ? text.trimEnd() : text;
	const kept = text.slice(content.length);
	if (content === "") return undefined;
	const messages: ChatInput["messages"] = [...input.messages, { role: "assistant", content }];
	const asVllm =
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
		input: { ...input, ...left, ...asVllm, messages },
		expected: kept === "" ? [] : [{ channel: "content", text: kept }],
		continues: true,
	};
}
