/** The kind `pgvector` against PostgreSQL 18 with pgvector 0.8. */
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { VectorQuery, VectorShape } from "../../../src/retrieval/vectors/records.ts";
import type { StoreServices } from "../../../src/retrieval/vectors/stores/external-store.ts";
import { pgvector } from "../../../src/retrieval/vectors/stores/pgvector/index.ts";
import { tablesOf } from "../../../src/retrieval/vectors/stores/pgvector/schema.ts";
import { EXACT_VECTORS, search } from "../../../src/retrieval/vectors/stores/pgvector/search.ts";
import type { PgvectorSetting } from "../../../src/retrieval/vectors/stores/store-settings.ts";
import type { VectorStore } from "../../../src/retrieval/vectors/vector-store.ts";
import { type StartedGateway, startGateway } from "../../clients/gateway.ts";
import { batchOf, put, queryOf, vectorStoreContract } from "../../retrieval/vectors/contract.ts";
import { connectOnNode, startPostgres, startProxy } from "./postgres.ts";

let server: Awaited<ReturnType<typeof startPostgres>>;
beforeAll(async () => {
	server = await startPostgres();
});
afterAll(() => server.stop());

const services: StoreServices = {
	fetch,
	connect: connectOnNode,
	now: () => Date.now(),
	wait: (ms) => setTimeout(ms),
};

const open = (shape: VectorShape, now = services.now): VectorStore => {
	const index = { ...shape, name: "docs", store: "pg", createdAt: 0, modifiedAt: 0, delayMs: 0 };
	const address = { hostname: "127.0.0.1", port: server.port, hasTls: false };
	const setting: PgvectorSetting = {
		...{ kind: "pgvector", schema: "ganglion", maxConnections: 5, efSearch: 100 },
		server: { ...address, user: "postgres", password: "", database: "postgres" },
	};
	return pgvector(setting, { ...services, now })({
		index: { ...index, object: `local/${randomUUID()}` },
		name: "pg",
	});
};

vectorStoreContract({ name: "pgvector", open: (shape) => open(shape), isExact: false });

describe("the kind pgvector", () => {
	it("keeps text that PostgreSQL cannot store", async () => {
		const store = open({ dimensions: 1, metric: "euclidean" });
		await store.create();
		const text = "a\0b\x01\x02'; DROP TABLE x; --\"\\ü";
		await store.write({
			id: randomUUID(),
			operation: "create-metadata-index",
			index: { propertyName: "it's\"", indexType: "string" },
		});
		await put(store, "upsert", { id: text, values: [1], namespace: text, metadata: { "it's\"": text } });
		const filter = [{ property: "it's\"", operator: "$eq", value: text } as const];
		const [match] = await store.query(
			queryOf([1], { namespace: text, filter, returnMetadata: "indexed", returnValues: true }),
		);
		expect(match).toMatchObject({ id: text, namespace: text, score: 0 });
		expect(JSON.parse(match?.metadata ?? "")).toEqual({ "it's\"": text });
		expect((await store.list({ count: 1 })).ids).toEqual([text]);
		await store.drop();
	});

	it("lists an index that does not change for an hour from each first page", async () => {
		const hour = 60 * 60_000;
		let now = Date.UTC(2026, 0, 1);
		const store = open({ dimensions: 1, metric: "euclidean" }, () => now);
		await store.create();
		await put(store, "insert", ...["a", "b", "c", "d"].map((id) => ({ id, values: [1] })));
		const firstCursor = async () => {
			const { next } = await store.list({ count: 1 });
			expect(next?.expiresAt).toBe(now + hour);
			return next?.cursor ?? "";
		};
		const pageAt = (cursor: string) => store.list({ count: 1, cursor });
		const first = await firstCursor();
		now += hour / 2;
		const second = await firstCursor();
		const page = await pageAt(first);
		expect([page.ids, page.next?.expiresAt]).toEqual([["b"], now + hour / 2]);
		now += hour / 2;
		await expect(pageAt(first)).rejects.toMatchObject({ code: 40027 });
		await expect(pageAt(page.next?.cursor ?? "")).rejects.toMatchObject({ code: 40027 });
		// The snapshot of the second list is kept: it has the id that is deleted now.
		await store.write({ id: randomUUID(), operation: "delete", ids: ["b"] });
		expect(await pageAt(second)).toMatchObject({ ids: ["b"], totalCount: 4 });
		now += hour / 2;
		await expect(pageAt(second)).rejects.toMatchObject({ code: 40027 });
		// Long after the first list, without a mutation since then.
		await firstCursor();
		now += 5 * hour;
		expect((await pageAt(await firstCursor())).ids).toEqual(["c"]);
		await store.drop();
	});

	it("searches more vectors than it compares one by one in its HNSW index", async () => {
		const store = open({ dimensions: 4, metric: "euclidean" });
		await store.create();
		const index = { propertyName: "rare", indexType: "number" } as const;
		await store.write({ id: randomUUID(), operation: "create-metadata-index", index });
		const total = EXACT_VECTORS + 100;
		const vectors = Array.from({ length: total }, (_, at) => ({
			...{ id: `v${at}`, values: [at, 0, 0, 0], metadata: { rare: at % 100 === 0 ? 1 : 0 } },
			...(at >= total - 10 && { namespace: "last" }),
		}));
		await put(store, "insert", ...vectors);
		expect(await store.info()).toMatchObject({ vectorCount: total });
		const ids = async (options: Partial<VectorQuery>) =>
			(await store.query(queryOf([3_000.4, 0, 0, 0], { topK: 3, ...options }))).map(({ id }) => id);
		expect(await ids({})).toEqual(["v3000", "v3001", "v2999"]);
		expect(await ids({ filter: [{ property: "rare", operator: "$gte", value: 0 }] })).toEqual([
			...["v3000", "v3001", "v2999"],
		]);
		expect(await ids({ filter: [{ property: "rare", operator: "$eq", value: 1 }] })).toEqual([
			...["v3000", "v3100", "v2900"],
		]);
		// A search has its own settings, which end with it.
		const { rows } = await server.db.query("SHOW hnsw.ef_search");
		expect(rows).toEqual([{ "hnsw.ef_search": "40" }]);
		expect(await ids({ namespace: "last" })).toEqual([`v${total - 10}`, `v${total - 9}`, `v${total - 8}`]);
		await store.drop();
		await expect(store.info()).rejects.toMatchObject({ code: 3000 });
	});

	it.each([
		["100 by default", 100, 10, {}, 100],
		["twice the results of a long answer", 100, 100, {}, 200],
		["what the operator sets", 400, 10, {}, 400],
		["four times as many with a namespace", 100, 10, { namespace: "a" }, 400],
		["at most 1,000", 800, 10, { namespace: "a" }, 1_000],
	])("has candidates of a search: %s", async (_, efSearch, topK, options, expected) => {
		const texts: string[] = [];
		const run = async (text: string) => {
			texts.push(text);
			return [{ found: 100_000 }] as never[];
		};
		const tables = tablesOf("ganglion", "x");
		const index = { tables, metric: "cosine", vectors: 100_000, properties: [], efSearch } as const;
		const query = { ...queryOf([1], { topK, ...options }), vector: new Float32Array([1]) };
		await search(async (text) => (text.includes("ORDER BY") ? [] : run(text)), query, index);
		expect(texts.join()).toContain(`SET LOCAL hnsw.ef_search = ${expected};`);
	});

	it("writes a mutation whole or not at all", async () => {
		const store = open({ dimensions: 2, metric: "cosine" });
		await store.create();
		await put(store, "insert", { id: "a", values: [1, 0] });
		const batches = [batchOf([{ id: "b", values: [0, 1] }]), batchOf([{ id: "c", values: [Number.NaN, 1] }])];
		await expect(store.write({ id: randomUUID(), operation: "insert", batches })).rejects.toMatchObject({
			status: 502,
			description: 'The vector store "pg" has refused a query (SQLSTATE 22000)',
		});
		expect(await store.info()).toMatchObject({ vectorCount: 1 });
		expect((await store.list({ count: 5 })).ids).toEqual(["a"]);
		await store.drop();
	});
});

/** The gateway as `ganglion serve` starts it. */
describe("a gateway with VECTORS.stores", () => {
	let gateway: StartedGateway;
	let proxy: Awaited<ReturnType<typeof startProxy>>;
	beforeAll(async () => {
		proxy = await startProxy(server.port);
		const url = `postgres://postgres@127.0.0.1:${server.port}/postgres?sslmode=disable`;
		gateway = await startGateway({
			VECTORS: JSON.stringify({
				stores: {
					pg: { kind: "pgvector", url, key: "PG_PASSWORD", schema: "vectors", max_connections: 1 },
					lost: {
						kind: "pgvector",
						url: url.replace(/:\d+\/postgres\?/, ":1/postgres?"),
						key: "PG_PASSWORD",
					},
					kept: {
						kind: "pgvector",
						url: url.replace(`:${server.port}/`, `:${proxy.port}/`),
						key: "PG_PASSWORD",
					},
				},
				indexes: { "docs-*": "pg" },
			}),
			PG_PASSWORD: "not-checked-by-this-server",
		});
	});
	afterAll(async () => {
		await gateway.stop();
		proxy.stop();
	});

	const call = async (method: string, path: string, body?: object, signal?: AbortSignal) => {
		const response = await fetch(`${gateway.baseURL}/accounts/local/vectorize/v2/indexes${path}`, {
			...{ method, signal: signal ?? null },
			...(body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
		});
		// biome-ignore lint/suspicious/noExplicitAny: the tests compare it.
		return { status: response.status, ...((await response.json()) as any) };
	};
	const config = { dimensions: 3, metric: "cosine" };

	it("puts an index into the store that its name or its field chooses", async () => {
		const created = await call("POST", "", { name: "docs-1", config });
		expect([created.status, created.result.store]).toEqual([201, "pg"]);
		const builtin = await call("POST", "", { name: "docs-2", config, store: "builtin" });
		expect([builtin.status, builtin.result.store]).toEqual([201, undefined]);
		expect((await call("POST", "", { name: "docs-1", config })).errors[0].code).toBe(3002);
		expect((await call("POST", "", { name: "other", config, store: "pgg" })).errors[0].message).toBe(
			'store: expected "builtin", "pg", "lost" or "kept", found "pgg"; did you mean "pg"?',
		);
		expect((await call("POST", "", { name: "other", config, store: "pg", delay_ms: 5 })).status).toBe(400);

		await call("POST", "/docs-1/metadata_index/create", { propertyName: "page", indexType: "number" });
		const vectors = [
			{ id: "a", values: [1, 0, 0], metadata: { page: 1 } },
			{ id: "b", values: [0, 1, 0], metadata: { page: 2 } },
		];
		expect((await call("POST", "/docs-1/upsert", { vectors })).status).toBe(200);
		expect((await call("GET", "/docs-1/info")).result).toMatchObject({ dimensions: 3, vectorCount: 2 });
		const query = {
			vector: [1, 0, 0],
			filter: { page: { $gt: 1 } },
			returnMetadata: "all",
			returnValues: true,
		};
		// They wait for the connection. The server mixes the queries of connections up, because it has only one session.
		const found = await Promise.all(Array.from({ length: 12 }, () => call("POST", "/docs-1/query", query)));
		for (const { errors, result } of found)
			expect([errors, result]).toEqual([
				[],
				{
					count: 1,
					matches: [{ id: "b", score: 0, values: [0, 1, 0], metadata: { page: 2 } }],
				},
			]);
		expect(
			(await call("POST", "/docs-1/query", { vector: [1, 0, 0], filter: { x: 1 } })).errors[0].code,
		).toBe(40022);
		const tables = async () => {
			const { rows } = await server.db.query<{ name: string }>(
				"SELECT tablename AS name FROM pg_tables WHERE schemaname = 'vectors' AND tablename LIKE 'vectors_%'",
			);
			return rows.length;
		};
		expect(await tables()).toBe(1);
		expect((await call("DELETE", "/docs-1")).status).toBe(200);
		await expect.poll(tables, { timeout: 20_000 }).toBe(0);
	});

	it("keeps the connection of a query for the next one of the account", async () => {
		expect((await call("POST", "", { name: "kept", config, store: "kept" })).status).toBe(201);
		await call("POST", "/kept/upsert", { vectors: [{ id: "a", values: [1, 0, 0] }] });
		const query = async (signal?: AbortSignal) => {
			const { errors, result } = await call("POST", "/kept/query", { vector: [1, 0, 0] }, signal);
			expect([errors, result.matches]).toEqual([[], [{ id: "a", score: 1 }]]);
		};
		await expect.poll(proxy.open).toBe(0);
		const before = proxy.opened();
		for (let at = 0; at < 5; at++) await query();
		expect([proxy.opened() - before, proxy.open()]).toEqual([1, 1]);

		// A query after a restart of the server.
		proxy.lose();
		await query();
		expect([proxy.opened() - before, proxy.open()]).toEqual([2, 1]);

		// A caller that leaves ends its connection.
		proxy.stall();
		const leaver = new AbortController();
		const left = query(leaver.signal);
		await setTimeout(200);
		leaver.abort();
		await expect(left).rejects.toThrow("aborted");
		await expect.poll(proxy.open, { timeout: 5_000 }).toBe(0);
		await query();
		expect([proxy.opened() - before, proxy.open()]).toEqual([3, 1]);

		// Without queries, it ends before the object could be evicted.
		await expect.poll(proxy.open, { timeout: 9_000, interval: 100 }).toBe(0);
		await query();
		expect(proxy.open()).toBe(1);
		expect((await call("DELETE", "/kept")).status).toBe(200);
		await expect.poll(proxy.open, { timeout: 4_000 }).toBe(0);
	}, 60_000);

	it("names the store that cannot be reached", async () => {
		const failed = await call("POST", "", { name: "other", config, store: "lost" });
		expect([failed.status, failed.errors[0].message]).toEqual([
			502,
			'The vector store "lost" cannot be reached',
		]);
	});
});
