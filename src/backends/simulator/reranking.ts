/** Reranking by common words, in place of a cross-encoder. */
import type { RerankingInput } from "../../tasks/reranking/index.ts";
import type { Answer } from "../../tasks/task.ts";
import { isStopWord, singular, words } from "./words.ts";

const termsOf = (text: string): Set<string> =>
	new Set(
		words(text)
			.filter((word) => !isStopWord(word))
			.map(singular),
	);

/** Of two contexts that share as many words with the query, the shorter one comes first. */
const LENGTH_WEIGHT = 0.001;

/** `score`: the share of the query's words that a context has, 0 to 1. */
export async function reranking({ query, contexts, top_k }: RerankingInput): Promise<Answer<"reranking">> {
	const queryTerms = termsOf(query);
	const ranks = contexts
		.map((context, id) => {
			const terms = termsOf(context);
			const shared = [...queryTerms].filter((term) => terms.has(term)).length;
			return { id, score: shared / (queryTerms.size + LENGTH_WEIGHT * terms.size || 1) };
		})
		.sort((a, b) => b.score - a.score || a.id - b.id)
		.slice(0, top_k);
	return { kind: "value", output: { ranks } };
}
