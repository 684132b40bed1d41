import type { Usage } from "./text-generation.ts";

export interface EmbeddingsInput {
	texts: string[];
	/** How token vectors become one; an engine that has one way ignores it. */
	pooling?: "mean" | "cls";
	/** Cut what is too long instead of refusing it. */
	truncate?: boolean;
	/** Length of the vectors asked for, where the model can shorten them. */
	dimensions?: number;
	/** How the caller wants to be given them, for an engine that can write so, too. */
	encoding?: "base64";
}

export interface EmbeddingsOutput {
	/** One vector a text, in the order of the texts. Beside `written`, each look reads that anew. */
	readonly vectors: number[][];
	/** The same as an engine wrote them, where that is at hand: their numbers are dear to read and to write again. */
	readonly written?: WrittenVectors;
	usage?: Pick<Usage, "prompt_tokens" | "total_tokens">;
}

/** Each a JSON array of numbers, or base64 of little-endian 32-bit floats. */
export interface WrittenVectors {
	as: "json" | "base64";
	rows: string[];
	/** Numbers of the first. */
	length: number;
}
