/** Vectors in clusters, the same for the same seed, and their exact neighbours. */
import { uniformNumbers } from "../soak/random.ts";

const CLUSTERS = 2_000;
/** Of a vector around its cluster, whose own deviation is 1. */
const DEVIATION = 0.7;
const CLUSTER_SEED = 1;

/** By the method of Box and Muller. */
const normal = (uniform: () => number): number =>
	Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());

interface ClusteredSet {
	count: number;
	dimensions: number;
	/** Sets of different seeds have the same clusters. */
	seed: number;
}

export function clusteredVectors({ count, dimensions, seed }: ClusteredSet): Float32Array<ArrayBuffer>[] {
	const ofClusters = uniformNumbers(CLUSTER_SEED);
	const centres = Array.from({ length: CLUSTERS }, () =>
		Float32Array.from({ length: dimensions }, () => normal(ofClusters)),
	);
	const uniform = uniformNumbers(seed);
	return Array.from({ length: count }, () => {
		const centre = centres[Math.floor(uniform() * CLUSTERS)] ?? new Float32Array(dimensions);
		return centre.map((value) => value + DEVIATION * normal(uniform));
	});
}

/** The positions of the vectors with the largest cosines, by sums in float64. */
export function exactNearest(vectors: readonly Float32Array[], query: Float32Array, count: number): number[] {
	return vectors
		.map((vector, at) => {
			let product = 0;
			let squares = 0;
			for (let dimension = 0; dimension < query.length; dimension++) {
				const value = vector[dimension] ?? 0;
				product += value * (query[dimension] ?? 0);
				squares += value * value;
			}
			return { at, cosine: product / Math.sqrt(squares) };
		})
		.sort((a, b) => b.cosine - a.cosine)
		.slice(0, count)
		.map(({ at }) => at);
}
