/** Tasks that take a text and give one small value. */
import type { Usage } from "./text-generation.ts";

export interface ClassifyTextInput {
	text: string;
}

/** Scores add up to about 1. */
export interface LabelsOutput {
	labels: { label: string; score: number }[];
}

/** Languages are named as the model's own input has them: `en`, `english`, `hin_Deva`. */
export interface TranslationInput {
	texts: string[];
	source_lang: string;
	target_lang: string;
}

export interface TranslationOutput {
	/** One a text, in order. */
	texts: string[];
	usage?: Usage;
}

export interface SummarizationInput {
	text: string;
	/** Tokens. */
	max_length: number;
}

export interface SummarizationOutput {
	summary: string;
	usage?: Usage;
}
