/**
 * The exact scan: the scores of vectors, and the best of them. Sums are float64, of values that are float32. A score depends only on the two
 * vectors, and equal scores are in the order of the ids, so that an answer does not depend on the place of a vector.
 *
 * Scores: `cosine` from -1 to 1, the largest is the best; `euclidean` is the distance, `dot-product` the negative product: the smallest is the
 * best (developers.cloudflare.com/vectorize/best-practices/create-indexes). A vector of zeros has a cosine of 0.
 */
import type { VectorMetric } from "../records.ts";
import type { VectorBlock } from "./block-table.ts";
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

	/** Whether a score can be among the best. */
	mayAdd(score: number): boolean {
		if (this.matches.length < this.#max) return this.#max > 0;
		const worst = this.matches.at(-1)?.score ?? 0;
		return this.#metric === "cosine" ? score >= worst : score <= worst;
	}

	add(match: ScoredId): void {
		let at = this.matches.length;
		while (at > 0 && isBetter(this.#metric, match, this.matches[at - 1] ?? match)) at--;
		if (at >= this.#max) return;
		this.matches.splice(at, 0, match);
		if (this.matches.length > this.#max) this.matches.pop();
	}
}

export class Scanner {
	readonly top: TopMatches;
	readonly #metric: VectorMetric;
	readonly #query: Float32Array;
	readonly #length: number;

	constructor(metric: VectorMetric, query: Float32Array, topK: number) {
		this.#metric = metric;
		this.#query = query;
		this.#length = lengthOf(query, 0, query.length);
		this.top = new TopMatches(metric, topK);
	}

	/** `selected`: 1 at the slots that are searched. Absent: all. */
	scan(block: VectorBlock, selected: Uint8Array | undefined): void {
		const { firstSlot, ids, lengths, values } = block;
		const query = this.#query;
		const dimensions = query.length;
		for (let offset = 0; offset < ids.length; offset++) {
			const id = ids[offset];
			if (id === undefined || (selected && selected[firstSlot + offset] !== 1)) continue;
			const score = this.#score(values, offset * dimensions, lengths[offset] ?? 0);
			if (this.top.mayAdd(score)) this.top.add({ id, score });
		}
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
