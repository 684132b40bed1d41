/**
 * llama.cpp counts the tokens of one choice, whatever `n` is. Only its replies have `timings`, which count that choice:
 * the first one in a complete reply. In a stream each choice ends with its own usage.
 */
import { countOf, type Usage } from "../../core/usage.ts";
import { TokenCount } from "../../counting/token-estimate.ts";
import type { ChatChoice, ChatCompletion, ChatInput } from "../../tasks/text-generation/types.ts";

interface Timed {
	timings?: unknown;
	usage?: unknown;
}

/** Whether the usage of a reply or an event counts one choice. */
export function countsOneChoice({ timings }: Timed, usage: Usage | null | undefined): usage is Usage {
	if (typeof timings !== "object" || timings === null || !usage) return false;
	return "predicted_n" in timings && countOf(timings.predicted_n) === usage.completion_tokens;
}

/** Adds the tokens of the other choices: exact counts if the choice has them, otherwise estimates. */
export function countAllChoices(reply: ChatCompletion, { max_tokens }: ChatInput): ChatCompletion {
	const [first, ...others] = reply.choices;
	const counted = reply.usage;
	if (!first || others.length === 0 || !countsOneChoice(reply as Timed, counted)) return reply;
	const scale = counted.completion_tokens / Math.max(1, approximately(first));
	const tokensOf = (choice: ChatChoice): number => {
		if (choice.finish_reason === "length" && max_tokens !== undefined) return max_tokens;
		const tokens = logprobsOf(choice) ?? Math.round(approximately(choice) * scale);
		return Math.min(tokens, max_tokens ?? Number.POSITIVE_INFINITY);
	};
	const completion_tokens = others.reduce((sum, choice) => sum + tokensOf(choice), counted.completion_tokens);
	return { ...reply, usage: withOutput(counted, completion_tokens) };
}

/** Adds the usage of a choice that has ended to that of the choices before it. */
export const addChoice = (before: Usage | undefined, choice: Usage): Usage =>
	before ? withOutput(choice, before.completion_tokens + choice.completion_tokens) : choice;

const withOutput = (usage: Usage, completion_tokens: number): Usage => ({
	...usage,
	completion_tokens,
	total_tokens: usage.prompt_tokens + completion_tokens,
});

/** The logprobs have one item per token. */
function logprobsOf({ logprobs }: ChatChoice): number | undefined {
	if (typeof logprobs !== "object" || logprobs === null || !("content" in logprobs)) return undefined;
	return Array.isArray(logprobs.content) ? logprobs.content.length : undefined;
}

function approximately({ message }: ChatChoice): number {
	const count = new TokenCount();
	const { content, reasoning_content, tool_calls } = message;
	for (const text of [content, reasoning_content]) if (text) count.add(text);
	for (const call of tool_calls ?? []) count.add(call.function.name + call.function.arguments);
	return count.tokens;
}
