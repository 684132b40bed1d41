import * as z from "zod";
import { lean } from "../../schemas/lean.ts";
import type { Usage } from "../../tasks/text-generation.ts";

export const UsageReply = lean(
	z.looseObject({
		prompt_tokens: z.number().nullish(),
		completion_tokens: z.number().nullish(),
		total_tokens: z.number().nullish(),
		prompt_tokens_details: z.looseObject({ cached_tokens: z.number().nullish() }).nullish(),
		completion_tokens_details: z.looseObject({ reasoning_tokens: z.number().nullish() }).nullish(),
	}),
);

/** With its sums, further fields as they came; `undefined` where the engine counted nothing. */
export function usageOf(usage: z.output<typeof UsageReply> | null | undefined): Usage | undefined {
	if (!usage || typeof usage.prompt_tokens !== "number") return undefined;
	const { prompt_tokens } = usage;
	// Embeddings have no completion.
	const completion_tokens = usage.completion_tokens ?? 0;
	return {
		...usage,
		prompt_tokens,
		completion_tokens,
		total_tokens: usage.total_tokens ?? prompt_tokens + completion_tokens,
	};
}
