import { AiError } from "../../core/errors.ts";
import { boundedTokens } from "../../counting/bounded-estimate.ts";
import {
	estimatedTokens,
	exact,
	maxEncoderTokens,
	tokenUpperBound,
	truncatedTokens,
} from "../../counting/quantities.ts";
import { inputFamily } from "../../models/family.ts";
import type { TaskDefinition } from "../definition.ts";
import type { EmbeddingsInput, EmbeddingsOutput } from "./types.ts";

export const textEmbeddings: TaskDefinition<EmbeddingsInput, EmbeddingsOutput> = {
	estimate: ({ texts }) => tokenUpperBound(maxEncoderTokens(texts)),
	measure({ texts }, { usage }, model) {
		const tokens = usage?.prompt_tokens || usage?.total_tokens;
		return tokens ? exact({ inputTokens: tokens }) : estimatedTokens(truncatedTokens(texts, model));
	},
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
