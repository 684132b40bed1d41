/** Input and output of reranking. */
export interface RerankingInput {
	query: string;
	contexts: string[];
	top_k?: number;
}

/** Best first. `id` is the index of the context in the input. Scores are between 0 and 1. */
export interface RerankingOutput {
	ranks: { id: number; score: number }[];
}
