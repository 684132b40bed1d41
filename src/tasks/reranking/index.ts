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
import type { RerankingInput, RerankingOutput } from "./types.ts";

/** Between a query and a context. */
const PAIR_MARKERS = 2;

/** The model reads the query again with every context. */
export const reranking: TaskDefinition<RerankingInput, RerankingOutput> = {
	estimate: ({ query, contexts }) =>
		tokenUpperBound(maxEncoderTokens(contexts) + contexts.length * (utf8Length(query) + MAX_TEXT_MARKERS)),
	measure: ({ query, contexts }, _, model) =>
		estimatedTokens(truncatedTokens(contexts, model, approximateTokens([query]) + PAIR_MARKERS)),
};
