/** An index with more vectors than one object has, and what its objects do together. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { BufferHold } from "../../../src/core/process-counts.ts";
import { builtinStore } from "../../../src/retrieval/vectors/client/builtin-store.ts";
import { vectorObjects } from "../../../src/retrieval/vectors/client/vector-objects.ts";
import { IndexEngine } from "../../../src/retrieval/vectors/durable/index-engine.ts";
import { StateTable } from "../../../src/retrieval/vectors/durable/index-state.ts";
import { place, shardCapacity } from "../../../src/retrieval/vectors/durable/place-vectors.ts";
import { VectorReader } from "../../../src/retrieval/vectors/read-vectors.ts";
import type { VectorBatch } from "../../../src/retrieval/vectors/records.ts";
import { put, queryOf } from "./contract.ts";

const { index: objectOf } = vectorObjects(env);

function storeOf(dimensions: number) {
	const object = `local/${crypto.randomUUID()}`;
	const store = builtinStore({
		account: "local",
		index: {
			...{ name: "docs", metric: "euclidean", dimensions, store: "builtin", object },
			...{ createdAt: 0, modifiedAt: 0, delayMs: 0 },
		},
		object: () => objectOf(object),
	});
	return { object, store };
}

it("an object has at most 20,000 vectors, and 15.36 million values", () => {
	expect([1, 768, 1_024, 1_536].map(shardCapacity)).toEqual([20_000, 20_000, 15_000, 10_000]);
});

it("new vectors go to the first object with room, and known ones to theirs", () => {
	const batch: VectorBatch = {
		records: ["old", "a", "b", "a"].map((id) => ({ id })),
		values: new Float32Array([0, 1, 2, 3]),
	};
	const state = {
		known: new Map([["old", 1]]),
		counts: new Map([
			[0, 19_999],
			[1, 1],
		]),
		dimensions: 1,
	};
	const upserted = place(batch, "upsert", state);
	expect([...upserted.added]).toEqual([
		["a", 0],
		["b", 1],
	]);
	expect([...(upserted.batches.get(0)?.values ?? [])]).toEqual([3]);
	expect([...(upserted.batches.get(1)?.values ?? [])]).toEqual([0, 2]);
	const inserted = place(batch, "insert", state);
	expect([...(inserted.batches.get(0)?.values ?? [])]).toEqual([1]);
	expect([...(inserted.batches.get(1)?.values ?? [])]).toEqual([2]);
});

it("searches, replaces, lists and deletes in all objects", async () => {
	const { object, store } = storeOf(1);
	await store.create();
	await store.write({
		id: crypto.randomUUID(),
		operation: "create-metadata-index",
		index: { propertyName: "parity", indexType: "number" },
	});
	const total = 20_100;
	const batches = Array.from({ length: 21 }, (_, batch): VectorBatch => {
		const numbers = Array.from(
			{ length: Math.min(1_000, total - batch * 1_000) },
			(_, at) => batch * 1_000 + at,
		);
		return {
			records: numbers.map((number) => ({ id: `v${number}`, metadata: `{"parity":${number % 2}}` })),
			values: new Float32Array(numbers),
		};
	});
	await store.write({ id: crypto.randomUUID(), operation: "insert", batches });
	expect(await store.info()).toMatchObject({ vectorCount: total });
	const further = env.VECTOR_INDEX.getByName(`${object}.1`);
	const inFurther = await runInDurableObject(further, (_, { storage }) =>
		storage.sql.exec<{ vectors: number }>("SELECT count(*) AS vectors FROM vectors").one(),
	);
	expect(inFurther).toEqual({ vectors: 100 });

	// The border of the two objects.
	const near = await store.query(queryOf([19_999.6], { topK: 4, returnValues: true }));
	expect(near.map(({ id, values }) => [id, ...(values ?? [])])).toEqual([
		["v20000", 20_000],
		["v19999", 19_999],
		["v20001", 20_001],
		["v19998", 19_998],
	]);
	const odd = await store.query(
		queryOf([20_050], { topK: 2, filter: [{ property: "parity", operator: "$eq", value: 1 }] }),
	);
	expect(odd.map(({ id }) => id)).toEqual(["v20049", "v20051"]);
	expect((await store.get(["v20099", "v0"])).map(({ id, values }) => [id, ...values])).toEqual([
		["v20099", 20_099],
		["v0", 0],
	]);
	await put(store, "upsert", { id: "v20099", values: [-5] });
	expect((await store.query(queryOf([-5], { topK: 1 })))[0]).toMatchObject({ id: "v20099", score: 0 });
	await store.write({ id: crypto.randomUUID(), operation: "delete", ids: ["v20099", "v0"] });
	expect(await store.info()).toMatchObject({ vectorCount: total - 2 });
	expect((await store.query(queryOf([-5], { topK: 1 })))[0]).toMatchObject({ id: "v1" });
	expect((await store.list({ count: 2 })).totalCount).toBe(total - 2);

	await store.drop();
	const rest = await runInDurableObject(further, (_, { storage }) =>
		storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'vectors'").toArray(),
	);
	expect(rest).toEqual([]);
});

it("an upload is divided into batches of 500 vectors", () => {
	const hold = new BufferHold("batches");
	const reader = new VectorReader({ operation: "insert", dimensions: 1, maxVectors: 5_000, hold });
	for (let number = 0; number < 1_200; number++) reader.addValue({ id: `v${number}`, values: [number] });
	const batches = reader.end();
	hold.release();
	expect(batches.map(({ records, values }) => [records.length, values.length, values[0]])).toEqual([
		[500, 500, 0],
		[500, 500, 500],
		[200, 200, 1_000],
	]);
});

/** Batches of one vector each. */
const singles = (count: number) =>
	Array.from(
		{ length: count },
		(_, at): VectorBatch => ({ records: [{ id: `v${at}` }], values: new Float32Array([at]) }),
	);

it("answers other requests between the batches of an upload", async () => {
	const { store } = storeOf(1);
	await store.create();
	let isWriting = true;
	const written = store
		.write({ id: crypto.randomUUID(), operation: "insert", batches: singles(30) })
		.finally(() => {
			isWriting = false;
		});
	const counts = new Set<number>();
	while (isWriting) {
		counts.add((await store.info()).vectorCount);
		await scheduler.wait(1);
	}
	await written;
	expect([...counts].filter((count) => count > 0 && count < 30)).not.toEqual([]);
	expect(await store.info()).toMatchObject({ vectorCount: 30 });
});

it("applies the parts that a kill has left", async () => {
	const { object, store } = storeOf(1);
	await store.create();
	const stub = env.VECTOR_INDEX.getByName(object);
	// As after a kill: the mutation is in the journal, and nothing of it is applied.
	await runInDurableObject(stub, (_, { storage }) => {
		storage.sql.exec(
			"CREATE TABLE IF NOT EXISTS mutations (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, operation TEXT NOT NULL, written_at INTEGER NOT NULL, visible_at INTEGER, detail TEXT NOT NULL)",
		);
		storage.sql.exec(
			"CREATE TABLE IF NOT EXISTS parts (mutation INTEGER NOT NULL, part INTEGER NOT NULL, records TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (mutation, part)) WITHOUT ROWID",
		);
		storage.sql.exec("INSERT INTO mutations VALUES (0, 'killed', 'insert', 1, 1, '{}')");
		storage.sql.exec('INSERT INTO parts VALUES (0, 3, \'[{"id":"a"}]\', ?)', new Float32Array([7]).buffer);
	});
	await put(store, "insert", { id: "b", values: [8] });
	expect((await store.query(queryOf([7]))).map(({ id }) => id)).toEqual(["a", "b"]);
});

it("an upload into an index that is deleted meanwhile fails as any use of an index that does not exist", async () => {
	const { store } = storeOf(1);
	await store.create();
	const written = store.write({ id: crypto.randomUUID(), operation: "insert", batches: singles(30) });
	const failed = expect(written).rejects.toMatchObject({ status: 404 });
	while ((await store.info()).vectorCount === 0) await scheduler.wait(1);
	await store.drop();
	await failed;
});

it("a write of 5,000 vectors looks no id up in an index that has room for all", async () => {
	const object = `local/${crypto.randomUUID()}`;
	await runInDurableObject(env.VECTOR_INDEX.getByName(object), async (_, { storage }) => {
		const queries: string[] = [];
		const exec = (query: string, ...values: SqlStorageValue[]) => {
			queries.push(query);
			return storage.sql.exec(query, ...values);
		};
		const sql = new Proxy(storage.sql, {
			get: (target, name) => (name === "exec" ? exec : Reflect.get(target, name, target)),
		});
		const state = new StateTable(sql);
		state.create({ account: "local", object, dimensions: 1, metric: "euclidean", delayMs: 0 });
		const engine = new IndexEngine({
			...{ sql, state, shard: {} as never, transaction: (write) => write() },
			...{
				further: () => expect.unreachable(),
				now: Date.now,
				giveWay: async () => {},
				pause: async () => {},
			},
		});
		queries.length = 0;
		const id = crypto.randomUUID();
		await engine.write({ id, operation: "upsert", detail: {}, batches: singles(5_000), isLast: false });
		expect(queries.filter((query) => query.startsWith("INSERT INTO parts"))).toHaveLength(5_000);
		expect(queries.filter((query) => query.includes("FROM ids"))).toEqual([]);
	});
});

/** An index of one dimension with the vectors `v0` to `v199998`, so with room for one. */
async function nearlyFull() {
	const { object, store } = storeOf(1);
	await store.create();
	// Before the object reads how many it has.
	await runInDurableObject(env.VECTOR_INDEX.getByName(object), (_, { storage }) => {
		storage.sql.exec(
			"CREATE TABLE ids (id TEXT NOT NULL, created INTEGER NOT NULL, deleted INTEGER, shard INTEGER NOT NULL, PRIMARY KEY (id, created)) WITHOUT ROWID",
		);
		storage.sql.exec(
			"INSERT INTO ids SELECT 'v' || (a.value * 1000 + b.value), 1, NULL, 0 FROM json_each(?1) a, json_each(?2) b",
			JSON.stringify(Array.from({ length: 200 }, (_, i) => i)),
			JSON.stringify(Array.from({ length: 1_000 }, (_, i) => i)),
		);
		storage.sql.exec("DELETE FROM ids WHERE id = 'v199999'");
	});
	const write = (id: string, isLast: boolean, ...ids: string[]) =>
		objectOf(object).write({
			...{ id, operation: "upsert", detail: {}, isLast },
			batches: [{ records: ids.map((one) => ({ id: one })), values: new Float32Array(ids.length) }],
		});
	return { store, write };
}

it("a full index takes known vectors and refuses new ones", async () => {
	const { store } = await nearlyFull();
	await put(store, "insert", { id: "new", values: [1] });
	const full = put(store, "upsert", { id: "v0", values: [2] }, { id: "newer", values: [3] });
	await expect(full).rejects.toMatchObject({ description: expect.stringContaining("200000") });
	await put(store, "upsert", { id: "v0", values: [4] });
	expect(await store.info()).toMatchObject({ vectorCount: 200_000 });
	expect((await store.get(["v0", "newer"])).map(({ id, values }) => [id, ...values])).toEqual([["v0", 4]]);
});

it("a nearly full index takes the last new vector also after parts with known ones, and however often it is sent", async () => {
	const { store, write } = await nearlyFull();
	const [one, other] = [crypto.randomUUID(), crypto.randomUUID()];
	expect(await write(one, false, "v0", "v1", "v2")).toMatchObject({ ok: true });
	expect(await write(other, false, "new", "new")).toMatchObject({ ok: true });
	expect(await write(one, false, "v0", "new", "new")).toMatchObject({ ok: true });
	expect(await write(one, true, "newer")).toMatchObject({ ok: false, failure: "storageFull" });
	expect(await write(other, true, "new", "v3")).toMatchObject({ ok: true });
	expect(await store.info()).toMatchObject({ vectorCount: 200_000 });
});

it("the parts of an upload that was refused take no room", async () => {
	const { store, write } = await nearlyFull();
	const id = crypto.randomUUID();
	expect(await write(id, false, "first")).toMatchObject({ ok: true });
	expect(await write(id, false, "second")).toMatchObject({ ok: false });
	await put(store, "insert", { id: "third", values: [1] });
	expect(await store.info()).toMatchObject({ vectorCount: 200_000 });
	expect((await store.get(["first", "second", "third"])).map((vector) => vector.id)).toEqual(["third"]);
});

it("an alarm that cannot delete what has expired, as on a full disk, is set again", async () => {
	const { object, store } = storeOf(1);
	await store.create();
	await put(store, "insert", { id: "a", values: [1] });
	await store.write({ id: crypto.randomUUID(), operation: "delete", ids: ["a"] });
	const deleting = vi.spyOn(IndexEngine.prototype, "deleteExpired").mockImplementation(() => {
		throw new Error("database or disk is full: SQLITE_FULL");
	});
	const stub = env.VECTOR_INDEX.getByName(object);
	expect(await runDurableObjectAlarm(stub)).toBe(true);
	expect(deleting).toHaveBeenCalledOnce();
	deleting.mockRestore();
	expect(await runInDurableObject(stub, (_, { storage }) => storage.getAlarm())).toBeGreaterThan(Date.now());
});
