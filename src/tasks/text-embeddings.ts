import type { Usage } from "./text-generation.ts";

export interface EmbeddingsInput {
	texts: string[];
	/** How token vectors become one; an engine that has one way ignores it. */
	pooling?: "mean" | "cls";
	/** Cut what is too long instead of refusing it. */
	truncate?: boolean;
	/** Length of the vectors asked for, where the model can shorten them. */
	dimensions?: number;
}

/** One vector a text, in the order of the texts. */
export interface EmbeddingsOutput {
	vectors: number[][];
	usage?: Pick<Usage, "prompt_tokens" | "total_tokens">;
}
