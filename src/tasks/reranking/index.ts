import {
	estimatedTokens,
	MOST_TEXT_MARKS,
	mostTokens,
	tokensAtMost,
	truncatedTokens,
} from "../../counting/quantities.ts";
import { utf8Length } from "../../counting/text.ts";
import { approximateTokens } from "../../counting/token-estimate.ts";
import type { TaskDefinition } from "../definition.ts";
import type { RerankingInput, RerankingOutput } from "./types.ts";

/** Between a query and a context. */
const PAIR_MARKS = 2;

/** The model reads the query again with every context. */
export const reranking: TaskDefinition<RerankingInput, RerankingOutput> = {
	estimate: ({ query, contexts }) =>
		tokensAtMost(mostTokens(contexts) + contexts.length * (utf8Length(query) + MOST_TEXT_MARKS)),
	measure: ({ query, contexts }, _, model) =>
		estimatedTokens(truncatedTokens(contexts, model, approximateTokens([query]) + PAIR_MARKS)),
};
