/** What an engine counted, whole reply or stream: engines leave counts out, or have `null` for those they do not keep. */
import * as z from "zod";
import type { Usage } from "./text-generation.ts";

const count = z.number().nullish();

export const SentUsage = z.looseObject({
	prompt_tokens: count,
	completion_tokens: count,
	total_tokens: count,
	prompt_tokens_details: z.looseObject({ cached_tokens: count }).nullish(),
	completion_tokens_details: z.looseObject({ reasoning_tokens: count }).nullish(),
});

/** With the third of any two counts, further fields as they came; `undefined` where nothing was counted. */
export function usageOf(sent: z.output<typeof SentUsage> | null | undefined): Usage | undefined {
	if (!sent) return undefined;
	const { prompt_tokens, completion_tokens, total_tokens } = sent;
	if (prompt_tokens == null && completion_tokens == null && total_tokens == null) return undefined;
	const rest = (known: number): number => Math.max(0, (total_tokens ?? 0) - known);
	const prompt = prompt_tokens ?? rest(completion_tokens ?? 0);
	const completion = completion_tokens ?? rest(prompt);
	return {
		...sent,
		prompt_tokens: prompt,
		completion_tokens: completion,
		// Zero beside other counts is one that was not kept.
		total_tokens: total_tokens || prompt + completion,
	};
}

/**
 * Which of two counts of one stream to believe: the later, unless it says less. Engines count up on every chunk or
 * once at the end, and some follow the true totals with a frame of zeros.
 */
export function laterUsage(before: Usage | undefined, after: Usage | null | undefined): Usage | undefined {
	if (!after) return before;
	return before && counted(before) > counted(after) ? before : after;
}

const counted = ({ prompt_tokens, completion_tokens }: Usage): number => prompt_tokens + completion_tokens;
