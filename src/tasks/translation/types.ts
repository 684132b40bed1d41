/** Input and output of translation. */
import type { Usage } from "../../core/usage.ts";

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
