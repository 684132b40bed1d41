/** The usage of native replies. */
import * as z from "zod";
import type { Usage } from "../../core/usage.ts";
import { frame, gatewayComment } from "../../streams/sse.ts";

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

/** Omits counts that are `null`: engines send `null` for counts that they do not record. */
export function nativeUsage(usage: Usage): Usage {
	const { prompt_tokens, completion_tokens, total_tokens, ...details } = usage;
	const kept = Object.entries(details).filter(([, value]) => value !== null && value !== undefined);
	return { prompt_tokens, completion_tokens, total_tokens, ...Object.fromEntries(kept) };
}

/**
 * The usage at the end of a stream. `native`: the product's own route forwards the chunks unchanged and adds the native
 * usage event. `chunk`: OpenAI's usage chunk with the cost. `engine`: the same as the engine sends it; the cost is in a comment
 * after the end, as in a stream that passes through. `none`: no usage.
 */
export type UsageEnding = "native" | "chunk" | "engine" | "none";

/** The event before `[DONE]` in native streams and in chunk streams of a model's own route. */
export const usageFrame = (usage: Usage): string => frame({ response: "", usage: nativeUsage(usage) });

/** The cost of a stream whose usage chunk is the engine's own. */
export const costComment = (neurons: number): string => gatewayComment(`neurons=${neurons}`);
