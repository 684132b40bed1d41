/** Searches of blocks with codes: the same vectors and scores as sums in float64 of all vectors, for vectors of every kind. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it } from "vitest";
import { vectorBytes } from "../../../src/core/process-counts.ts";
import type { VectorBlock } from "../../../src/retrieval/vectors/durable/block-table.ts";
import { BlockCodes, codedQuery, idleCodeBytes } from "../../../src/retrieval/vectors/durable/codes.ts";
import { Scanner } from "../../../src/retrieval/vectors/durable/scan.ts";
import { Shard } from "../../../src/retrieval/vectors/durable/shard.ts";
import {
	forgetOwner,
	hasRoomForValues,
	keepInMemory,
	type MemoryBlock,
} from "../../../src/retrieval/vectors/durable/vector-memory.ts";
import { VECTOR_METRICS, type VectorMetric } from "../../../src/retrieval/vectors/records.ts";

/** Numbers from 0 to 1 that are the same in every run. */
function numbers(seed: number): () => number {
	let state = seed;
	return () => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return state / 2 ** 32;
	};
}

type Make = (random: () => number, dimensions: number, at: number) => number[];
const list = (length: number, make: (at: number) => number): number[] =>
	Array.from({ length }, (_, at) => make(at));

const KINDS: Record<string, Make> = {
	random: (random, dimensions) => list(dimensions, () => random() - 0.5),
	// Their differences are smaller than what a code can say.
	"nearly equal": (random, dimensions) => list(dimensions, (at) => Math.sin(at + 1) + random() * 1e-6),
	equal: (_random, dimensions) => list(dimensions, (at) => at + 1),
	"with one large value": (random, dimensions, vector) =>
		list(dimensions, (at) => (at === vector % dimensions ? 1e6 : random() - 0.5)),
	"of zeros, some of them": (random, dimensions, vector) =>
		list(dimensions, () => (vector % 3 === 0 ? 0 : random() - 0.5)),
	"of the smallest and the largest lengths": (random, dimensions, vector) =>
		list(dimensions, () => (random() - 0.5) * (vector % 2 === 0 ? 1e-38 : 1e38)),
	"in growing similarity": (_random, dimensions, vector) =>
		list(dimensions, (at) => (at === 0 ? vector : 300)),
};

/** As the API describes the scores, in float64 of the float32 values. */
function scoreOf(metric: VectorMetric, query: Float32Array, values: Float32Array): number {
	let inner = 0;
	let distance = 0;
	let ofQuery = 0;
	let ofValues = 0;
	for (let at = 0; at < query.length; at++) {
		const one = query[at] ?? 0;
		const other = values[at] ?? 0;
		inner += one * other;
		distance += (one - other) ** 2;
		ofQuery += one * one;
		ofValues += other * other;
	}
	if (metric === "dot-product") return -inner;
	if (metric === "euclidean") return Math.sqrt(distance);
	const lengths = Math.sqrt(ofQuery) * Math.sqrt(ofValues);
	return lengths === 0 ? 0 : inner / lengths;
}

function shardOf(sql: SqlStorage, dimensions: number, pause = async () => {}): Shard {
	const owner = crypto.randomUUID();
	return new Shard(sql, { account: "scans", owner, dimensions, now: Date.now, pause });
}

const inObject = <T>(use: (sql: SqlStorage) => Promise<T>): Promise<T> =>
	runInDurableObject(env.VECTOR_INDEX.getByName(`scan/${crypto.randomUUID()}`), (_, { storage }) =>
		use(storage.sql),
	);

const asks = { conditions: [], returnValues: false, returnMetadata: "none" } as const;

/** Fails unless the matches are as good as the best by {@link scoreOf}, in their order. */
async function expectBest(
	shard: Shard,
	vectors: ReadonlyMap<string, Float32Array>,
	{
		metric,
		vector,
		topK = 10,
		namespace,
	}: { metric: VectorMetric; vector: Float32Array<ArrayBuffer>; topK?: number; namespace?: string },
): Promise<void> {
	const found = await shard.query({ ...asks, metric, vector, topK, namespace });
	const sign = metric === "cosine" ? -1 : 1;
	const scores = [...vectors]
		.map(([, values]) => scoreOf(metric, vector, values))
		.sort((a, b) => sign * (a - b));
	const best = scores.slice(0, topK);
	expect(found).toHaveLength(best.length);
	for (const [at, { id, score }] of found.entries()) {
		const tolerance = 1e-9 * Math.max(1e-300, Math.abs(best[at] ?? 0), metric === "cosine" ? 1 : 0);
		expect(Math.abs(score - (best[at] ?? Number.NaN))).toBeLessThanOrEqual(tolerance);
		const own = scoreOf(metric, vector, vectors.get(id) ?? new Float32Array());
		expect(Math.abs(score - own)).toBeLessThanOrEqual(tolerance);
	}
	expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
}

function filled(shard: Shard, make: Make, dimensions: number, count: number): Map<string, Float32Array> {
	const random = numbers(dimensions * 31 + count);
	const vectors = new Map(
		Array.from(
			{ length: count },
			(_, at) => [`v${at}`, new Float32Array(make(random, dimensions, at))] as const,
		),
	);
	const records = [...vectors.keys()].map((id, at) => ({ id, namespace: at % 5 === 0 ? "fifth" : "others" }));
	const values = new Float32Array([...vectors.values()].flatMap((own) => [...own]));
	shard.put({ records, values }, []);
	return vectors;
}

const limit = vectorBytes.report().limit;
afterEach(() => vectorBytes.limitTo(limit));

describe.each(Object.entries(KINDS))("vectors %s", (_, make) => {
	it.each(VECTOR_METRICS)("are found by their %s as by sums in float64", async (metric) => {
		for (const dimensions of [3, 17, 64])
			await inObject(async (sql) => {
				const shard = shardOf(sql, dimensions);
				const vectors = filled(shard, make, dimensions, 1_500);
				const random = numbers(dimensions);
				for (let query = 0; query < 4; query++) {
					const vector = new Float32Array(make(random, dimensions, query));
					await expectBest(shard, vectors, { metric, vector, topK: [1, 10, 100, 5][query] ?? 1 });
				}
				const fifth = new Map([...vectors].filter((_own, at) => at % 5 === 0));
				const vector = new Float32Array(make(random, dimensions, 1));
				await expectBest(shard, fifth, { metric, vector, namespace: "fifth" });
				await expectBest(shard, vectors, { metric, vector: new Float32Array(dimensions) });
				shard.close();
			});
	});

	it("have products within the bounds of their codes", () => {
		const dimensions = 48;
		const codes = BlockCodes.take(100, dimensions);
		if (!codes) throw new Error("no memory");
		const random = numbers(5);
		const vectors = Array.from({ length: 100 }, (_own, at) => new Float32Array(make(random, dimensions, at)));
		for (const [at, values] of vectors.entries()) codes.encode(at, values, 0);
		const query = new Float32Array(make(random, dimensions, 4));
		const coded = codedQuery(query);
		const sums = codes.sums(0, vectors.length, coded).slice(0, vectors.length);
		for (const [at, values] of vectors.entries()) {
			const exact = -scoreOf("dot-product", query, values);
			const error = codes.errorOf(at, Math.sqrt(-scoreOf("dot-product", values, values)), coded);
			expect(Math.abs(codes.approximate(at, sums[at] ?? Number.NaN, coded) - exact)).toBeLessThanOrEqual(
				error,
			);
		}
		codes.release();
	});
});

describe("a search", () => {
	it("scores few vectors exactly", () => {
		const dimensions = 256;
		const count = 256;
		const random = numbers(9);
		const scanner = new Scanner("cosine", new Float32Array(list(dimensions, () => random() - 0.5)), 5);
		const blocks = Array.from({ length: 8 }, (_, at): VectorBlock => {
			const codes = BlockCodes.take(count, dimensions);
			if (!codes) throw new Error("no memory");
			const values = new Float32Array(list(count * dimensions, () => random() - 0.5));
			const lengths = new Float64Array(count);
			const ids = Array.from({ length: count }, (_own, slot) => `v${at * count + slot}`);
			for (let slot = 0; slot < count; slot++) {
				codes.encode(slot, values, slot * dimensions);
				lengths[slot] = Math.hypot(...values.subarray(slot * dimensions, (slot + 1) * dimensions));
			}
			const block = { account: "", owner: "", kind: "codes", bytes: 0, firstSlot: at * count } as const;
			return { ...block, ids, lengths, codes, values: () => values, drop: () => codes.release() };
		});
		for (const block of blocks) scanner.scan(block, undefined);
		let scored = 0;
		for (const candidate of scanner.candidates()) {
			scored++;
			const at = (candidate.slot % count) * dimensions;
			const values = blocks[Math.floor(candidate.slot / count)]?.values();
			if (values) scanner.score(candidate, values.slice(at, at + dimensions));
		}
		for (const block of blocks) block.drop();
		expect(scanner.matches).toHaveLength(5);
		expect(scored).toBeLessThan(40);
	});

	it("finds what was replaced, and not what was deleted", async () => {
		await inObject(async (sql) => {
			const shard = shardOf(sql, 2);
			const put = (id: string, x: number, y: number) =>
				shard.put({ records: [{ id }], values: new Float32Array([x, y]) }, []);
			const ids = async (x: number, y: number) =>
				(await shard.query({ ...asks, metric: "euclidean", vector: new Float32Array([x, y]), topK: 2 })).map(
					({ id }) => id,
				);
			for (let at = 0; at < 50; at++) put(`v${at}`, at, 0);
			expect(await ids(7.2, 0)).toEqual(["v7", "v8"]);
			put("v8", 100, 100);
			put("v40", 7.1, 0);
			expect(await ids(7.2, 0)).toEqual(["v40", "v7"]);
			shard.remove(["v7", "v40"]);
			expect(await ids(7.2, 0)).toEqual(["v6", "v9"]);
			// The free slots.
			put("new", 7.2, 0);
			expect(await ids(7.2, 0)).toEqual(["new", "v6"]);
			expect(await ids(100, 100)).toEqual(["v8", "v49"]);
			shard.close();
		});
	});

	it("does not return a vector that was deleted during the search, or what has its place then", () =>
		inObject(async (sql) => {
			const dimensions = 256;
			let change = () => {};
			const shard = shardOf(sql, dimensions, async () => {
				change();
				change = () => {};
			});
			const vectors = filled(shard, (random) => list(dimensions, () => random() - 0.5), dimensions, 20_000);
			const vector = new Float32Array(vectors.get("v0") ?? []);
			const search = () =>
				shard
					.query({ ...asks, metric: "cosine", vector, topK: 2, namespace: "fifth" })
					.then((all) => all[0]?.id);
			expect(await search()).toBe("v0");
			change = () => {
				shard.remove(["v0"]);
				shard.put({ records: [{ id: "new", namespace: "others" }], values: vector }, []);
			};
			expect(await search()).not.toMatch(/^(v0|new)$/);
			shard.close();
		}));

	it.each([
		["of nothing", 0],
		["of few blocks", 900_000],
		["of codes, and few values", 1_500_000],
	])("finds the same with memory %s, and keeps no more", async (_, bytes) => {
		// Of other tests of this process.
		const before = vectorBytes.report().used;
		vectorBytes.limitTo(bytes);
		await inObject(async (sql) => {
			const dimensions = 256;
			const shard = shardOf(sql, dimensions);
			const vectors = filled(shard, (random) => list(dimensions, () => random() - 0.5), dimensions, 3_000);
			const random = numbers(3);
			for (let query = 0; query < 3; query++) {
				const vector = new Float32Array(list(dimensions, () => random() - 0.5));
				for (const metric of VECTOR_METRICS) await expectBest(shard, vectors, { metric, vector });
				expect(vectorBytes.report().used).toBeLessThanOrEqual(Math.max(before, bytes));
			}
			shard.close();
			expect(vectorBytes.report().used).toBeLessThanOrEqual(before);
		});
	});

	it("of an index leaves another one's vectors alone that has its memory", async () => {
		vectorBytes.limitTo(900_000);
		const dimensions = 256;
		const vector = new Float32Array(list(dimensions, (at) => Math.cos(at)));
		const indexes = [1_000, 1_001].map((count) => {
			const object = env.VECTOR_INDEX.getByName(`scan/${crypto.randomUUID()}`);
			let opened: { shard: Shard; vectors: Map<string, Float32Array> } | undefined;
			return async () =>
				runInDurableObject(object, async (_, { storage }) => {
					const shard = opened?.shard ?? shardOf(storage.sql, dimensions);
					const vectors =
						opened?.vectors ??
						filled(shard, (random) => list(dimensions, () => random() - 0.5), dimensions, count);
					opened = { shard, vectors };
					await expectBest(shard, vectors, { metric: "cosine", vector });
				});
		});
		for (let turn = 0; turn < 3; turn++) for (const search of indexes) await search();
	});
});

describe("the memory", () => {
	const MB = 1_000_000;
	const blockOf = (kind: "codes" | "values", dropped: string[], name: string): MemoryBlock => ({
		...{ account: "memory", owner: "memory", kind, bytes: MB },
		drop: () => void dropped.push(name),
	});

	it("replaces values by other values only if they are not in use, and at once by codes", () => {
		vectorBytes.limitTo(vectorBytes.report().used + idleCodeBytes() + 2 * MB);
		const dropped: string[] = [];
		const [a, b, c, codes] = (["a", "b", "c", "codes"] as const).map((name) =>
			blockOf(name === "codes" ? "codes" : "values", dropped, name),
		) as [MemoryBlock, MemoryBlock, MemoryBlock, MemoryBlock];
		expect([keepInMemory(a, 0), keepInMemory(b, 1_000)]).toEqual([true, true]);
		expect([hasRoomForValues(MB, 9_000), keepInMemory(c, 9_000)]).toEqual([false, false]);
		expect(keepInMemory(a, 9_500)).toBe(true);
		expect([hasRoomForValues(MB, 10_900), keepInMemory(c, 10_900)]).toEqual([false, false]);
		expect(dropped).toEqual([]);
		// `b` was used 10 s ago, and `a` a moment ago.
		expect([hasRoomForValues(MB, 11_000), keepInMemory(c, 11_000)]).toEqual([true, true]);
		expect(dropped).toEqual(["b"]);
		expect(keepInMemory(codes, 11_001)).toBe(true);
		expect(dropped).toEqual(["b", "a"]);
		forgetOwner("memory");
		expect(dropped).toEqual(["b", "a", "codes", "c"]);
	});
});

it("the bound of the error is reached", () => {
	const codes = BlockCodes.take(1, 2);
	if (!codes) throw new Error("no memory");
	// The scale is 1, and the second code 0.
	codes.encode(0, new Float32Array([127, 0.25]), 0);
	const query = codedQuery(new Float32Array([0, 4]));
	const [sum = Number.NaN] = codes.sums(0, 1, query);
	expect(codes.approximate(0, sum, query)).toBe(0);
	const error = codes.errorOf(0, Math.hypot(127, 0.25), query);
	expect(error).toBeGreaterThanOrEqual(1);
	expect(error).toBeLessThan(1.000_001);
	codes.release();
});
