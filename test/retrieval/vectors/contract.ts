/** What every kind of store does. Expected values are written out; scores are compared with sums in float64. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type {
	FilterCondition,
	StoredVector,
	VectorBatch,
	VectorMetric,
	VectorQuery,
	VectorShape,
} from "../../../src/retrieval/vectors/records.ts";
import type { VectorStore } from "../../../src/retrieval/vectors/vector-store.ts";

interface StoreKind {
	name: string;
	/** A store of a new index. */
	open(shape: VectorShape): VectorStore;
	/** Whether it finds the nearest vectors always. */
	isExact: boolean;
}

type Vector = { id: string; values: number[]; namespace?: string; metadata?: object };

export const batchOf = (vectors: readonly Vector[]): VectorBatch => ({
	records: vectors.map(({ id, namespace, metadata }) => ({
		id,
		...(namespace !== undefined && { namespace }),
		...(metadata && { metadata: JSON.stringify(metadata) }),
	})),
	values: new Float32Array(vectors.flatMap(({ values }) => values)),
});

export const put = (
	store: VectorStore,
	operation: "insert" | "upsert",
	...vectors: Vector[]
): Promise<string> => store.write({ id: crypto.randomUUID(), operation, batches: [batchOf(vectors)] });

export const queryOf = (values: number[], options: Partial<VectorQuery> = {}): VectorQuery => ({
	vector: new Float32Array(values),
	topK: 5,
	filter: [],
	returnValues: false,
	returnMetadata: "none",
	...options,
});

const numbers = ({ values }: StoredVector): number[] => [...values];

export function vectorStoreContract({ name, open, isExact }: StoreKind): void {
	const opened: VectorStore[] = [];
	const storeOf = async (metric: VectorMetric, dimensions = 2): Promise<VectorStore> => {
		const store = open({ metric, dimensions });
		opened.push(store);
		await store.create();
		return store;
	};
	afterAll(async () => {
		for (const store of opened) await store.drop();
	});

	describe(`a store of the kind ${name}`, () => {
		it("inserts only new vectors, and replaces whole vectors by an upsert", async () => {
			const store = await storeOf("cosine");
			await put(store, "insert", { id: "a", values: [1, 2], namespace: "x", metadata: { page: 1 } });
			await put(
				store,
				"insert",
				{ id: "a", values: [3, 4] },
				{ id: "b", values: [5, 6] },
				{ id: "b", values: [7, 8] },
			);
			const [a, b] = await store.get(["a", "b", "absent"]);
			expect(a).toMatchObject({ id: "a", namespace: "x", metadata: '{"page":1}' });
			expect([a, b].map((vector) => vector && numbers(vector))).toEqual([
				[1, 2],
				[5, 6],
			]);
			await put(store, "upsert", { id: "a", values: [3, 4] }, { id: "a", values: [9, 9.5] });
			const [replaced] = await store.get(["a"]);
			expect(replaced && { ...replaced, values: numbers(replaced) }).toEqual({ id: "a", values: [9, 9.5] });
			expect(await store.info()).toMatchObject({ vectorCount: 2 });
		});

		it("stores float32", async () => {
			const store = await storeOf("euclidean", 1);
			await put(store, "insert", { id: "a", values: [58.8] });
			const [vector] = await store.get(["a"]);
			expect(vector && numbers(vector)).toEqual([58.79999923706055]);
		});

		it.each([
			["cosine", ["same", "near", "zero", "opposite"], [1, Math.SQRT1_2, 0, -1]],
			["euclidean", ["same", "near", "zero", "opposite"], [0, 1, Math.sqrt(5), Math.sqrt(20)]],
			["dot-product", ["near", "same", "zero", "opposite"], [-5.5, -5, 0, 5]],
		] as const)("orders by %s", async (metric, ids, scores) => {
			const store = await storeOf(metric);
			const near = { cosine: [3, 1], euclidean: [1, 3], "dot-product": [1.5, 2] }[metric];
			const query = { cosine: [1, 2], euclidean: [1, 2], "dot-product": [1, 2] }[metric];
			await put(
				store,
				"insert",
				{ id: "opposite", values: [-1, -2] },
				{ id: "zero", values: [0, 0] },
				{ id: "near", values: near },
				{ id: "same", values: [1, 2] },
			);
			const matches = await store.query(queryOf(query));
			expect(matches.map(({ id }) => id)).toEqual(ids);
			for (const [index, score] of scores.entries()) expect(matches[index]?.score).toBeCloseTo(score, 5);
			expect((await store.query(queryOf(query, { topK: 2 }))).map(({ id }) => id)).toEqual(ids.slice(0, 2));
		});

		it("searches by the id of a vector, and finds nothing for an unknown one", async () => {
			const store = await storeOf("cosine");
			await put(store, "insert", { id: "a", values: [1, 0] }, { id: "b", values: [0, 1] });
			expect((await store.query(queryOf([], { vector: "b" }))).map(({ id }) => id)).toEqual(["b", "a"]);
			expect(await store.query(queryOf([], { vector: "absent" }))).toEqual([]);
		});

		it("searches a namespace, or all of them", async () => {
			const store = await storeOf("cosine");
			await put(
				store,
				"insert",
				{ id: "a", values: [1, 0], namespace: "red" },
				{ id: "b", values: [1, 0.1], namespace: "blue" },
				{ id: "c", values: [1, 0.2] },
			);
			const red = await store.query(queryOf([1, 0], { namespace: "red" }));
			expect(red).toMatchObject([{ id: "a", namespace: "red" }]);
			expect(await store.query(queryOf([1, 0], { namespace: "absent" }))).toEqual([]);
			expect((await store.query(queryOf([1, 0]))).map(({ id }) => id)).toEqual(["a", "b", "c"]);
		});

		it("returns values and metadata that are requested", async () => {
			const store = await storeOf("cosine");
			await store.write({
				id: crypto.randomUUID(),
				operation: "create-metadata-index",
				index: { propertyName: "folder.name", indexType: "string" },
			});
			const name = "é".repeat(40);
			await put(store, "insert", { id: "a", values: [1, 0], metadata: { folder: { name }, page: 2 } });
			const [plain] = await store.query(queryOf([1, 0]));
			expect(Object.keys(plain ?? {}).sort()).toEqual(["id", "score"]);
			const [all] = await store.query(queryOf([1, 0], { returnValues: true, returnMetadata: "all" }));
			expect(JSON.parse(all?.metadata ?? "")).toEqual({ folder: { name }, page: 2 });
			expect([...(all?.values ?? [])]).toEqual([1, 0]);
			// 64 bytes are 32 of these characters.
			const [indexed] = await store.query(queryOf([1, 0], { returnMetadata: "indexed" }));
			expect(JSON.parse(indexed?.metadata ?? "")).toEqual({ folder: { name: "é".repeat(32) } });
		});

		it("deletes vectors, and uses their places again", async () => {
			const store = await storeOf("euclidean");
			await put(store, "insert", { id: "a", values: [1, 0] }, { id: "b", values: [2, 0] });
			await store.write({ id: crypto.randomUUID(), operation: "delete", ids: ["a", "absent"] });
			expect((await store.query(queryOf([0, 0]))).map(({ id }) => id)).toEqual(["b"]);
			await put(store, "insert", { id: "c", values: [0, 0] });
			expect((await store.query(queryOf([0, 0]))).map(({ id }) => id)).toEqual(["c", "b"]);
			expect(await store.get(["a"])).toEqual([]);
			expect(await store.info()).toMatchObject({ vectorCount: 2 });
		});

		it("reports the last mutation", async () => {
			const store = await storeOf("cosine");
			expect(await store.info()).toEqual({ vectorCount: 0 });
			const batches = [batchOf([{ id: "a", values: [1, 2] }])];
			const id = await store.write({ id: crypto.randomUUID(), operation: "upsert", batches });
			expect(await store.info()).toEqual({
				vectorCount: 1,
				processedAt: expect.any(Number),
				processedMutation: id,
			});
		});

		it("lists a snapshot by pages", async () => {
			const store = await storeOf("cosine");
			await put(store, "insert", ...["d", "b", "a", "c", "é/…"].map((id) => ({ id, values: [1, 1] })));
			const first = await store.list({ count: 2 });
			expect(first).toMatchObject({ totalCount: 5, next: { cursor: expect.any(String) } });
			await put(store, "insert", { id: "bb", values: [1, 1] });
			const deleted = ["a", "b", "c"].find((id) => !first.ids.includes(id)) ?? "";
			await store.write({ id: crypto.randomUUID(), operation: "delete", ids: [deleted] });
			const second = await store.list({ count: 2, cursor: first.next?.cursor ?? "" });
			expect(second).toMatchObject({ totalCount: 5, next: { cursor: expect.any(String) } });
			const third = await store.list({ count: 2, cursor: second.next?.cursor ?? "" });
			expect([third.ids.length, third.totalCount, third.next]).toEqual([1, 5, undefined]);
			expect([...first.ids, ...second.ids, ...third.ids].sort()).toEqual(["a", "b", "c", "d", "é/…"]);
			const current = await store.list({ count: 10 });
			const left = ["a", "b", "bb", "c", "d", "é/…"].filter((id) => id !== deleted);
			expect([[...current.ids].sort(), current.totalCount, current.next]).toEqual([left, 5, undefined]);
			await expect(store.list({ count: 2, cursor: "bm9uc2Vuc2U" })).rejects.toMatchObject({ code: 40027 });
		});

		it("finds the nearest of many vectors", async () => {
			const store = await storeOf("cosine", 32);
			const vectors = Array.from({ length: 1_500 }, (_, index) => ({
				id: `vector-${index}`,
				values: Array.from({ length: 32 }, (_, at) =>
					Math.fround(Math.sin(index * 7.13 + at * 1.77 + index * at)),
				),
			}));
			for (let start = 0; start < vectors.length; start += 500)
				await put(store, "insert", ...vectors.slice(start, start + 500));
			const query = vectors[700]?.values ?? [];
			const cosine = (values: number[]): number => {
				const dot = (a: number[], b: number[]) => a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
				return dot(query, values) / Math.sqrt(dot(query, query) * dot(values, values));
			};
			const scores = new Map(vectors.map(({ id, values }) => [id, cosine(values)]));
			const best = [...scores.values()].sort((a, b) => b - a).slice(0, 10);
			const matches = await store.query(queryOf(query, { topK: 10 }));
			for (const { id, score } of matches) expect(score).toBeCloseTo(scores.get(id) ?? Number.NaN, 5);
			const tenth = (best.at(-1) ?? 0) - 1e-6;
			const found = matches.filter(({ id }) => (scores.get(id) ?? 0) >= tenth).length;
			expect(found).toBeGreaterThanOrEqual(isExact ? 10 : 9);
		});
	});

	filters(`filters of the kind ${name}`, storeOf);
}

function filters(title: string, storeOf: (metric: VectorMetric) => Promise<VectorStore>): void {
	describe(title, () => {
		let store: VectorStore;
		const index = (
			operation: "create-metadata-index" | "delete-metadata-index",
			propertyName: string,
			indexType: "string" | "number" | "boolean",
		) => store.write({ id: crypto.randomUUID(), operation, index: { propertyName, indexType } });
		const ids = async (...filter: FilterCondition[]): Promise<string[]> =>
			(await store.query(queryOf([1, 0], { filter, topK: 100 }))).map(({ id }) => id).sort();

		beforeAll(async () => {
			store = await storeOf("cosine");
			await put(store, "insert", { id: "early", values: [1, 0], metadata: { folder: "docs/early" } });
			await index("create-metadata-index", "folder", "string");
			await index("create-metadata-index", "page", "number");
			await index("create-metadata-index", "meta.public", "boolean");
			await put(
				store,
				"insert",
				{ id: "a", values: [1, 0], metadata: { folder: "docs/a", page: 1, meta: { public: true } } },
				{ id: "b", values: [1, 0], metadata: { folder: "docs/b", page: 2.5, meta: { public: false } } },
				{ id: "c", values: [1, 0], metadata: { folder: "docs0", page: "3" } },
				{ id: "d", values: [1, 0], metadata: { folder: `${"x".repeat(63)}é tail`, page: -1 } },
				{ id: "e", values: [1, 0], metadata: { folder: ["docs/a"] } },
			);
		});

		it("knows its metadata indexes", async () => {
			expect(await store.metadataIndexes()).toEqual([
				{ propertyName: "folder", indexType: "string" },
				{ propertyName: "page", indexType: "number" },
				{ propertyName: "meta.public", indexType: "boolean" },
			]);
		});

		it.each<[string, FilterCondition[], string[]]>([
			["$eq", [{ property: "folder", operator: "$eq", value: "docs/a" }], ["a"]],
			["$eq of a number", [{ property: "page", operator: "$eq", value: 2.5 }], ["b"]],
			["$eq of a boolean", [{ property: "meta.public", operator: "$eq", value: false }], ["b"]],
			["$eq of another type", [{ property: "page", operator: "$eq", value: "3" }], []],
			["$eq null", [{ property: "page", operator: "$eq", value: null }], ["c", "e", "early"]],
			["$ne", [{ property: "folder", operator: "$ne", value: "docs/a" }], ["b", "c", "d", "e", "early"]],
			["$in", [{ property: "folder", operator: "$in", values: ["docs/a", "docs0"] }], ["a", "c"]],
			["$in of nothing", [{ property: "folder", operator: "$in", values: [] }], []],
			["$nin", [{ property: "page", operator: "$nin", values: [1, 2.5] }], ["c", "d", "e", "early"]],
			["$lt", [{ property: "page", operator: "$lt", value: 1 }], ["d"]],
			["$lte", [{ property: "page", operator: "$lte", value: 1 }], ["a", "d"]],
			["$gt", [{ property: "page", operator: "$gt", value: 1 }], ["b"]],
			["$gte", [{ property: "page", operator: "$gte", value: 1 }], ["a", "b"]],
			[
				"a prefix",
				[
					{ property: "folder", operator: "$gte", value: "docs/" },
					{ property: "folder", operator: "$lt", value: "docs0" },
				],
				["a", "b"],
			],
			[
				"several properties",
				[
					{ property: "folder", operator: "$ne", value: "docs/b" },
					{ property: "page", operator: "$gt", value: 0 },
				],
				["a"],
			],
			[
				"the first 64 bytes of a string",
				[{ property: "folder", operator: "$eq", value: "x".repeat(63) }],
				["d"],
			],
		])("finds by %s", async (_, filter, expected) => {
			expect(await ids(...filter)).toEqual(expected);
		});

		it("finds a vector that is written again after its metadata index was made", async () => {
			const filter: FilterCondition = { property: "folder", operator: "$eq", value: "docs/early" };
			expect(await ids(filter)).toEqual([]);
			await put(store, "upsert", { id: "early", values: [1, 0], metadata: { folder: "docs/early" } });
			expect(await ids(filter)).toEqual(["early"]);
			await put(store, "upsert", { id: "early", values: [1, 0], metadata: {} });
			expect(await ids(filter)).toEqual([]);
		});

		it("refuses a property without a metadata index", async () => {
			await expect(ids({ property: "author", operator: "$eq", value: "x" })).rejects.toMatchObject({
				code: 40022,
			});
			await index("delete-metadata-index", "page", "number");
			await expect(ids({ property: "page", operator: "$eq", value: 1 })).rejects.toMatchObject({
				code: 40022,
			});
			// It has only the vectors that are written later.
			await index("create-metadata-index", "page", "number");
			expect(await ids({ property: "page", operator: "$gte", value: -5 })).toEqual([]);
		});
	});
}
