/** Divides the vectors of a mutation among the objects of its index. */
import type { VectorBatch } from "../records.ts";

/** Numbers of values that an object has at most: a scan of them takes about 50 milliseconds. */
const SHARD_VALUES = 15_360_000;
const SHARD_VECTORS = 20_000;
/** Of an index. */
export const MAX_INDEX_VECTORS = 200_000;

/** Vectors of one object. */
export const shardCapacity = (dimensions: number): number =>
	Math.min(SHARD_VECTORS, Math.floor(SHARD_VALUES / dimensions));

interface Placement {
	/** The vectors that an object gets. */
	batches: Map<number, VectorBatch>;
	/** The objects of the ids that are new. */
	added: Map<string, number>;
}

/** `known`: the objects of ids that exist. `counts`: vectors of each object. The first vector of an id is inserted, the last one is upserted. */
export function place(
	{ records, values }: VectorBatch,
	operation: "insert" | "upsert",
	{
		known,
		counts,
		dimensions,
	}: { known: ReadonlyMap<string, number>; counts: ReadonlyMap<number, number>; dimensions: number },
): Placement {
	const chosen = new Map<string, number>();
	for (const [index, { id }] of records.entries()) {
		if (operation === "insert" && (known.has(id) || chosen.has(id))) continue;
		chosen.set(id, index);
	}
	const capacity = shardCapacity(dimensions);
	const filled = new Map(counts);
	const added = new Map<string, number>();
	const indexes = new Map<number, number[]>();
	for (const [id, index] of chosen) {
		let shard = known.get(id);
		if (shard === undefined) {
			shard = 0;
			while ((filled.get(shard) ?? 0) >= capacity) shard++;
			filled.set(shard, (filled.get(shard) ?? 0) + 1);
			added.set(id, shard);
		}
		const own = indexes.get(shard) ?? [];
		indexes.set(shard, own);
		own.push(index);
	}
	const batches = new Map(
		[...indexes].map(([shard, own]) => [shard, part({ records, values }, own, dimensions)] as const),
	);
	return { batches, added };
}

function part({ records, values }: VectorBatch, indexes: readonly number[], dimensions: number): VectorBatch {
	if (indexes.length === records.length) return { records, values };
	const own = new Float32Array(indexes.length * dimensions);
	for (const [at, index] of indexes.entries())
		own.set(values.subarray(index * dimensions, (index + 1) * dimensions), at * dimensions);
	return { records: indexes.flatMap((index) => records[index] ?? []), values: own };
}
