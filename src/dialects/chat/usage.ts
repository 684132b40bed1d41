/** What a reply used: which of an engine's counts to believe, and how native replies write them. */
import * as z from "zod";
import type { Usage } from "../../core/usage.ts";
import { frame } from "../../streams/sse.ts";

const details = {
	prompt_tokens_details: z.looseObject({ cached_tokens: z.number().nullish() }).nullish(),
	completion_tokens_details: z.looseObject({ reasoning_tokens: z.number().nullish() }).nullish(),
};
export const NativeUsage = z.object({
	prompt_tokens: z.number(),
	completion_tokens: z.number(),
	total_tokens: z.number(),
	...details,
	neurons: z.number().optional(),
});

/** The counts that are there; engines say `null` for those that they do not keep. */
export function nativeUsage(usage: Usage): Usage {
	const { prompt_tokens, completion_tokens, total_tokens, ...more } = usage;
	const kept = Object.entries(more).filter(([, value]) => value !== null && value !== undefined);
	return { prompt_tokens, completion_tokens, total_tokens, ...Object.fromEntries(kept) };
}

/** The frame before `[DONE]`, of native streams and of those that are otherwise OpenAI's. */
export const usageFrame = (usage: Usage): string => frame({ response: "", usage: nativeUsage(usage) });
