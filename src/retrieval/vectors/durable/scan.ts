/**
 * The exact scan: the scores of vectors, and the best of them. Sums are float64, of values that are float32. A score depends only on the two
 * vectors, and equal scores are in the order of the ids, so that an answer does not depend on the place of a vector.
 *
 * A block with codes is first read by them (codes.ts): each vector gets an upper and a lower bound of its score. Only one whose upper bound
 * reaches the lower bounds of the best is scored. So the result is the same as without codes.
 *
 * Scores: `cosine` from -1 to 1, the largest is the best; `euclidean` is the distance, `dot-product` the negative product: the smallest is the
 * best (developers.cloudflare.com/vectorize/best-practices/create-indexes). A vector of zeros has a cosine of 0.
 */
import type { VectorMetric } from "../records.ts";
import type { VectorBlock } from "./block-table.ts";
import { type BlockCodes, type CodedQuery, codedQuery, ROUNDING } from "./codes.ts";
import { lengthOf, product, squaredDistance } from "./products.ts";

export interface ScoredId {
	id: string;
	score: number;
}

/** Whether the first match is better. */
const isBetter = (metric: VectorMetric, a: ScoredId, b: ScoredId): boolean => {
	if (a.score === b.score) return a.id < b.id;
	return metric === "cosine" ? a.score > b.score : a.score < b.score;
};

export const byScore =
	(metric: VectorMetric) =>
	(a: ScoredId, b: ScoredId): number =>
		isBetter(metric, a, b) ? -1 : 1;

/** The best matches so far, the best first. */
class TopMatches {
	readonly matches: ScoredId[] = [];
	readonly #metric: VectorMetric;
	readonly #max: number;

	constructor(metric: VectorMetric, max: number) {
		this.#metric = metric;
		this.#max = max;
	}

	/** The rank of the worst match, if there are enough. */
	get leastRank(): number {
		const worst = this.matches.at(-1);
		return worst && this.matches.length >= this.#max
			? rankOf(this.#metric, worst.score)
			: Number.NEGATIVE_INFINITY;
	}

	add(match: ScoredId): void {
		let at = this.matches.length;
		while (at > 0 && isBetter(this.#metric, match, this.matches[at - 1] ?? match)) at--;
		if (at >= this.#max) return;
		this.matches.splice(at, 0, match);
		if (this.matches.length > this.#max) this.matches.pop();
	}
}

/** The larger, the better. */
const rankOf = (metric: VectorMetric, score: number): number => (metric === "cosine" ? score : -score);

/** The best of the ranks that vectors have at least. */
class RankFloor {
	/** The largest is first. */
	readonly #ranks: number[] = [];
	readonly #max: number;

	constructor(max: number) {
		this.#max = max;
	}

	/** So many vectors as are wanted have at least this rank. */
	get least(): number {
		return this.#ranks.length < this.#max
			? Number.NEGATIVE_INFINITY
			: (this.#ranks.at(-1) ?? Number.POSITIVE_INFINITY);
	}

	/** A rank above {@link least}. */
	add(rank: number): void {
		let at = this.#ranks.length;
		while (at > 0 && (this.#ranks[at - 1] as number) < rank) at--;
		this.#ranks.splice(at, 0, rank);
		if (this.#ranks.length > this.#max) this.#ranks.pop();
	}
}

/** A vector that can be among the best. */
export interface ScannedVector {
	slot: number;
	id: string;
	/** Its rank is at most this one. */
	upper: number;
}

export class Scanner {
	readonly #top: TopMatches;
	readonly #floor: RankFloor;
	readonly #metric: VectorMetric;
	readonly #query: Float32Array;
	readonly #length: number;
	readonly #coded: CodedQuery;
	readonly #topK: number;
	#candidates: ScannedVector[] = [];

	constructor(metric: VectorMetric, query: Float32Array, topK: number) {
		this.#metric = metric;
		this.#query = query;
		this.#length = lengthOf(query, 0, query.length);
		this.#coded = codedQuery(query);
		this.#topK = topK;
		this.#top = new TopMatches(metric, topK);
		this.#floor = new RankFloor(topK);
	}

	/** The best, after the {@link candidates} are scored. */
	get matches(): readonly ScoredId[] {
		return this.#top.matches;
	}

	/** `selected`: 1 at the slots that are searched. Absent: all. */
	scan(block: VectorBlock, selected: Uint8Array | undefined): void {
		const { codes, firstSlot, ids } = block;
		const { length } = ids;
		let first = 0;
		for (let offset = 0; offset <= length; offset++) {
			if (offset < length && ids[offset] !== undefined && (!selected || selected[firstSlot + offset] === 1))
				continue;
			if (first < offset && codes) this.#bound(block, codes, first, offset);
			else if (first < offset) this.#scoreAll(block, first, offset);
			first = offset + 1;
		}
	}

	#scoreAll(block: VectorBlock, first: number, end: number): void {
		const values = block.values();
		for (let offset = first; offset < end; offset++) {
			const id = block.ids[offset] as string;
			const score = this.#score(values, offset * this.#query.length, block.lengths[offset] ?? 0);
			const rank = rankOf(this.#metric, score);
			if (rank > this.#floor.least) this.#floor.add(rank);
			this.#top.add({ id, score });
		}
	}

	#bound({ firstSlot, ids, lengths }: VectorBlock, codes: BlockCodes, first: number, end: number): void {
		const query = this.#coded;
		const floor = this.#floor;
		const sums = codes.sums(first, end - first, query);
		let { least } = floor;
		for (let offset = first; offset < end; offset++) {
			const length = lengths[offset] as number;
			const about = codes.approximate(offset, sums[offset - first] as number, query);
			const error = codes.errorOf(offset, length, query);
			const upper = this.#rank(about + error, length, 1);
			// Most vectors end here.
			if (upper < least) continue;
			const lower = this.#rank(about - error, length, -1);
			if (lower > least) {
				floor.add(lower);
				least = floor.least;
			}
			this.#candidates.push({ slot: firstSlot + offset, id: ids[offset] as string, upper });
		}
	}

	/** The rank of a vector by its product with the query. `side`: -1 for the least rank by rounding errors, 1 for the largest. */
	#rank(innerProduct: number, length: number, side: -1 | 1): number {
		switch (this.#metric) {
			case "cosine": {
				const lengths = length * this.#length;
				return lengths === 0 ? 0 : Math.max(-1, Math.min(1, innerProduct / lengths));
			}
			case "euclidean": {
				const squares = length ** 2 + this.#length ** 2;
				return -Math.sqrt(Math.max(0, squares - 2 * innerProduct - side * ROUNDING * squares));
			}
			case "dot-product":
				return innerProduct;
			default:
				return this.#metric satisfies never;
		}
	}

	/**
	 * The vectors to {@link score} now: first the best by their bounds, which leave few others, and then in the order of the slots, so that
	 * each block is read once.
	 */
	*candidates(): Generator<ScannedVector> {
		const { least } = this.#floor;
		const found = this.#candidates.filter(({ upper }) => upper >= least).sort((a, b) => b.upper - a.upper);
		this.#candidates = [];
		const others = found.splice(2 * this.#topK).sort((a, b) => a.slot - b.slot);
		for (const candidate of [...found, ...others])
			if (candidate.upper >= this.#top.leastRank) yield candidate;
	}

	/** @param values of the candidate. */
	score({ id }: ScannedVector, values: Float32Array): void {
		this.#top.add({ id, score: this.#score(values, 0, lengthOf(values, 0, values.length)) });
	}

	#score(values: Float32Array, at: number, length: number): number {
		const query = this.#query;
		switch (this.#metric) {
			case "cosine": {
				const lengths = length * this.#length;
				return lengths === 0 ? 0 : Math.max(-1, Math.min(1, product(query, values, at) / lengths));
			}
			case "euclidean":
				return Math.sqrt(squaredDistance(query, values, at));
			case "dot-product":
				// Not -0.
				return 0 - product(query, values, at);
			default:
				return this.#metric satisfies never;
		}
	}
}
