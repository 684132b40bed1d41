/** Input and output of text embeddings. */
import type { Usage } from "../../core/usage.ts";

export interface EmbeddingsInput {
	texts: string[];
	/** How token vectors are combined into one. Engines with a single method ignore it. */
	pooling?: "mean" | "cls";
	/** Truncate texts that are too long instead of refusing them. */
	truncate?: boolean;
	/** Requested length of the vectors, for models that can shorten them. */
	dimensions?: number;
	/** The encoding of the caller's response, so that an engine with the same encoding can be used without conversion. */
	encoding?: "base64";
}

export interface EmbeddingsOutput {
	/** One vector per text, in the order of the texts. If `written` is set, each access parses it again. */
	readonly vectors: number[][];
	/** The vectors as the engine serialised them, if available: parsing and writing the numbers again is expensive. */
	readonly written?: WrittenVectors;
	usage?: Pick<Usage, "prompt_tokens" | "total_tokens">;
}

/** Each row is a JSON array of numbers, or base64 of little-endian 32-bit floats. */
export interface WrittenVectors {
	as: "json" | "base64";
	rows: string[];
	/** Length of the first vector. */
	length: number;
}
