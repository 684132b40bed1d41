/** Summarization. */
import type { Usage } from "../../core/usage.ts";
import {
	completeUsage,
	estimatedTokens,
	MAX_OUTPUT_TOKENS,
	maxEncoderTokens,
	measuredBy,
	tokenUpperBound,
	truncatedTokens,
} from "../../counting/quantities.ts";
import { approximateTokens } from "../../counting/token-estimate.ts";
import type { TaskDefinition } from "../definition.ts";

export interface SummarizationInput {
	text: string;
	/** Tokens of the summary. */
	max_length: number;
}

export interface SummarizationOutput {
	summary: string;
	usage?: Usage;
}

export const summarization: TaskDefinition<SummarizationInput, SummarizationOutput> = {
	estimate: ({ text, max_length }) =>
		tokenUpperBound(maxEncoderTokens([text]), Math.min(max_length, MAX_OUTPUT_TOKENS)),
	measure: ({ text, max_length }, { summary, usage }, model) =>
		measuredBy(usage, () =>
			estimatedTokens(truncatedTokens([text], model), Math.min(approximateTokens([summary]), max_length)),
		),
	completeUsage,
};
