/** Ranks of an engine, checked and in order. */
import type { RerankingInput, RerankingOutput } from "../tasks/reranking/index.ts";
import { type Call, failureOfShape } from "./transport/upstream-failure.ts";

type Ranks = RerankingOutput["ranks"];

/** Refuses ranks that are not of different contexts, or fewer than `expected`. */
export function checkRanks(ranks: Ranks, contexts: readonly string[], expected: number, call: Call): Ranks {
	const known = new Set(ranks.map(({ id }) => id).filter((id) => id < contexts.length));
	if (known.size !== ranks.length || known.size < expected)
		throw failureOfShape(call, `a ranking of ${contexts.length} contexts`, ranks);
	return ranks;
}

export const bestRanks = (ranks: Ranks, { top_k }: RerankingInput): RerankingOutput => ({
	ranks: [...ranks].sort((a, b) => b.score - a.score).slice(0, top_k),
});
