/** Reranking: contexts in the order of their relevance for a query. */
import {
	estimatedTokens,
	MAX_TEXT_MARKERS,
	maxEncoderTokens,
	tokenUpperBound,
	truncatedTokens,
} from "../../counting/quantities.ts";
import { utf8Length } from "../../counting/text.ts";
import { approximateTokens } from "../../counting/token-estimate.ts";
import type { TaskDefinition } from "../definition.ts";

export interface RerankingInput {
	query: string;
	contexts: string[];
	top_k?: number;
}

/** Best first. `id` is the index of the context in the input. Scores are between 0 and 1. */
export interface RerankingOutput {
	ranks: { id: number; score: number }[];
}

/** Between a query and a context. */
const PAIR_MARKERS = 2;

/** The model reads the query again with every context. */
export const reranking: TaskDefinition<RerankingInput, RerankingOutput> = {
	estimate: ({ query, contexts }) =>
		tokenUpperBound(maxEncoderTokens(contexts) + contexts.length * (utf8Length(query) + MAX_TEXT_MARKERS)),
	prompt: ({ query, contexts }) => ({
		texts: contexts.map((context) => query + context),
		openingTexts: 0,
		mediaTokens: 0,
	}),
	measure: ({ query, contexts }, _, model) =>
		estimatedTokens(truncatedTokens(contexts, model, approximateTokens([query]) + PAIR_MARKERS)),
};
