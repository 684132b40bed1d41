/** Measures of rankings. `found`: keys in their order, the best first; only the first 10 count. */
const DEPTH = 10;

export interface Ranking {
	found: readonly string[];
	answers: readonly string[];
}

export interface RankingScores {
	/** The share of the answers that were found. */
	recall: number;
	/** 1 divided by the rank of the first answer. */
	reciprocalRank: number;
	/** Discounted cumulative gain, divided by the largest one that is possible. */
	ndcg: number;
}

export function scoresOf({ answers, found }: Ranking): RankingScores {
	const hits = [...new Set(found)].slice(0, DEPTH).map((key) => answers.includes(key));
	const first = hits.indexOf(true);
	const best = Array.from({ length: Math.min(answers.length, DEPTH) }, () => true);
	return {
		recall: hits.filter(Boolean).length / answers.length,
		reciprocalRank: first === -1 ? 0 : 1 / (first + 1),
		ndcg: gain(hits) / gain(best),
	};
}

const gain = (hits: readonly boolean[]): number =>
	hits.reduce((sum, isHit, index) => sum + (isHit ? 1 / Math.log2(index + 2) : 0), 0);

export function meanOf(all: readonly RankingScores[]): RankingScores {
	const mean = (value: (scores: RankingScores) => number): number =>
		all.reduce((sum, scores) => sum + value(scores), 0) / all.length;
	return {
		recall: mean(({ recall }) => recall),
		reciprocalRank: mean(({ reciprocalRank }) => reciprocalRank),
		ndcg: mean(({ ndcg }) => ndcg),
	};
}
