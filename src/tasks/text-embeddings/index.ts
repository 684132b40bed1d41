import { AiError } from "../../core/errors.ts";
import {
	estimatedTokens,
	known,
	mostTokens,
	tokensAtMost,
	truncatedTokens,
} from "../../counting/quantities.ts";
import { approximateTokens } from "../../counting/token-estimate.ts";
import { inputFamily } from "../../models/family.ts";
import type { TaskDefinition } from "../definition.ts";
import type { EmbeddingsInput, EmbeddingsOutput } from "./types.ts";

export const textEmbeddings: TaskDefinition<EmbeddingsInput, EmbeddingsOutput> = {
	estimate: ({ texts }) => tokensAtMost(mostTokens(texts)),
	measure({ texts }, { usage }, model) {
		const tokens = usage?.prompt_tokens || usage?.total_tokens;
		return tokens ? known({ inputTokens: tokens }) : estimatedTokens(truncatedTokens(texts, model));
	},
	checkContext({ texts, truncate }, model) {
		const { maxInputTokens, contextWindow } = model;
		if (truncate || inputFamily(model).embeddings?.truncation !== "chosen") return;
		const longest = texts.reduce((most, text) => Math.max(most, approximateTokens([text])), 0);
		if (maxInputTokens !== undefined && longest > maxInputTokens)
			throw new AiError("refusedByModel", `Sequence too long: ${longest} > ${maxInputTokens}`);
		const all = approximateTokens(texts);
		if (contextWindow !== undefined && all > contextWindow)
			throw new AiError(
				"refusedByModel",
				`Max context reached ${all} tokens but model supports only ${contextWindow}`,
			);
	},
};
