/** Translation. */
import type { Usage } from "../../core/usage.ts";
import {
	completeUsage,
	estimatedTokens,
	maxEncoderTokens,
	measuredBy,
	tokenUpperBound,
	truncatedTokens,
} from "../../counting/quantities.ts";
import type { TaskDefinition } from "../definition.ts";

/** Language names are those of the model's own input: `en`, `english`, `hin_Deva`. */
export interface TranslationInput {
	texts: string[];
	source_lang: string;
	target_lang: string;
}

export interface TranslationOutput {
	/** One translation per text, in order. */
	texts: string[];
	usage?: Usage;
}

/** Allowance for longer translations of short texts, and for language markers. */
const EXTRA_TOKENS = 32;

export const translation: TaskDefinition<TranslationInput, TranslationOutput> = {
	estimate({ texts }) {
		const tokens = maxEncoderTokens(texts);
		return tokenUpperBound(tokens, tokens + texts.length * EXTRA_TOKENS);
	},
	measure: ({ texts }, { texts: translated, usage }, model) =>
		measuredBy(usage, () =>
			estimatedTokens(truncatedTokens(texts, model), truncatedTokens(translated, model)),
		),
	completeUsage,
};
