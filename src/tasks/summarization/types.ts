/** Input and output of summarization. */
import type { Usage } from "../../core/usage.ts";

export interface SummarizationInput {
	text: string;
	/** Tokens of the summary. */
	max_length: number;
}

export interface SummarizationOutput {
	summary: string;
	usage?: Usage;
}
