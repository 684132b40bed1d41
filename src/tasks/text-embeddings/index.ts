/** Text embeddings: one vector per text. */
import { AiError } from "../../core/errors.ts";
import type { Usage } from "../../core/usage.ts";
import {
	estimatedTokens,
	exact,
	MAX_TEXT_MARKERS,
	maxEncoderTokens,
	tokenUpperBound,
	truncatedTokens,
} from "../../counting/quantities.ts";
import { boundedTokens } from "../../counting/token-estimate.ts";
import { inputFamily } from "../../models/family.ts";
import type { TaskDefinition } from "../definition.ts";

export interface EmbeddingsInput {
	/** Empty if there are `tokens`. */
	texts: string[];
	/** One text each, in the vocabulary of the engine's model, instead of `texts`. */
	tokens?: number[][];
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

/** Completes a sentence: what takes texts only. LangChain sends tokens by default, so the message names its option. */
export const NO_TOKENS = "text, not tokens (LangChain: check_embedding_ctx_length: false)";

const countOf = (rows: readonly number[][], markers = 0): number =>
	rows.reduce((sum, { length }) => sum + length + markers, 0);

export const textEmbeddings: TaskDefinition<EmbeddingsInput, EmbeddingsOutput> = {
	estimate: ({ texts, tokens }) =>
		tokenUpperBound(tokens ? countOf(tokens, MAX_TEXT_MARKERS) : maxEncoderTokens(texts)),
	measure({ texts, tokens: sent }, { usage }, model) {
		const tokens = usage?.prompt_tokens || usage?.total_tokens;
		if (tokens) return exact({ inputTokens: tokens });
		return estimatedTokens(sent ? countOf(sent) : truncatedTokens(texts, model));
	},
	completeUsage(output, { quantities: { inputTokens = 0 } }) {
		if (output.usage && output.usage.prompt_tokens !== inputTokens)
			output.usage = { prompt_tokens: inputTokens, total_tokens: inputTokens };
	},
	unsupportedBy: ({ tokens }, kind) =>
		tokens && kind !== "openai"
			? { failure: "invalidInput", field: "input", reason: `embeds ${NO_TOKENS}` }
			: undefined,
	prompt: ({ texts }) => ({ texts, openingTexts: 0, mediaTokens: 0 }),
	checkContext({ texts, truncate }, model) {
		const { maxInputTokens, contextWindow } = model;
		if (truncate || inputFamily(model).embeddings?.truncation !== "chosen") return;
		if (maxInputTokens !== undefined)
			for (const text of texts) {
				const tokens = boundedTokens([text], maxInputTokens);
				if (tokens > maxInputTokens)
					throw new AiError("refusedByModel", `Sequence too long: ${tokens} > ${maxInputTokens}`);
			}
		if (contextWindow === undefined) return;
		const all = boundedTokens(texts, contextWindow);
		if (all > contextWindow)
			throw new AiError(
				"refusedByModel",
				`Max context reached ${all} tokens but model supports only ${contextWindow}`,
			);
	},
};
