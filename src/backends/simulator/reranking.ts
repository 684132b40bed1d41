/** Reranking by BM25: words in common, where a cross-encoder reads both texts. */
import type { RerankingInput } from "../../tasks/reranking.ts";
import type { Answer } from "../../tasks/task.ts";
import { relevance } from "./bm25.ts";
import { terms } from "./text.ts";

/** Every context has a rank; those that share nothing with the query score 0 and keep their order. */
export async function reranking({ query, contexts, top_k }: RerankingInput): Promise<Answer<"reranking">> {
	const ranks = relevance(terms(query), contexts.map(terms))
		.sort((a, b) => b.score - a.score || a.index - b.index)
		.slice(0, top_k)
		.map(({ index, score }) => ({ id: index, score }));
	return { kind: "value", output: { ranks } };
}
