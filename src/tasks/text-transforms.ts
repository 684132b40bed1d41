/** Inputs and outputs of text classification, translation and summarization. */
import type { Usage } from "./text-generation.ts";

export interface ClassifyTextInput {
	text: string;
}

/** Scores add up to about 1. */
export interface LabelsOutput {
	labels: { label: string; score: number }[];
}

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

export interface SummarizationInput {
	text: string;
	/** Tokens of the summary. */
	max_length: number;
}

export interface SummarizationOutput {
	summary: string;
	usage?: Usage;
}
