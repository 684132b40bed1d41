/** The kind `qdrant` against a scripted server. */
import { describe, expect, it } from "vitest";
import type { VectorShape } from "../../../src/retrieval/vectors/records.ts";
import type { StoreServices } from "../../../src/retrieval/vectors/stores/external-store.ts";
import { qdrant } from "../../../src/retrieval/vectors/stores/qdrant/index.ts";
import { orderOf } from "../../../src/retrieval/vectors/stores/qdrant/text-order.ts";
import type { VectorStore } from "../../../src/retrieval/vectors/vector-store.ts";
import { put, queryOf, vectorStoreContract } from "./contract.ts";
import { qdrantServer } from "./qdrant-server.ts";

const API_KEY = "qdrant-secret";
const server = qdrantServer({ apiKey: API_KEY });

const services = (
	fetch: typeof globalThis.fetch = server.fetch,
	now: () => number = Date.now,
): StoreServices => ({
	...{ fetch, now },
	connect: () => {
		throw new Error("no connection");
	},
	wait: async () => {},
});

const open = (
	shape: VectorShape,
	{ apiKey = API_KEY, fetch = server.fetch, now = Date.now } = {},
): VectorStore => {
	const index = { ...shape, name: "docs", store: "q", createdAt: 0, modifiedAt: 0, delayMs: 0 };
	const setting = { kind: "qdrant", url: "http://qdrant:6333", prefix: "ganglion_", apiKey } as const;
	return qdrant(
		setting,
		services(fetch, now),
	)({ index: { ...index, object: `local/${crypto.randomUUID()}` }, name: "q" });
};

vectorStoreContract({ name: "qdrant", open, isExact: false });

describe("the kind qdrant", () => {
	it("leaves nothing when an index is dropped", async () => {
		const before = [...server.collections.keys()];
		const store = open({ dimensions: 2, metric: "cosine" });
		await store.create();
		await store.create();
		await put(store, "insert", { id: "a", values: [1, 2] });
		expect(server.collections.size).toBe(new Set([...before, "ganglion_indexes"]).size + 1);
		const states = server.collections.get("ganglion_indexes")?.points.size ?? 0;
		await store.drop();
		await store.drop();
		expect(server.collections.get("ganglion_indexes")?.points.size).toBe(states - 1);
		expect([...server.collections.keys()]).toEqual([...new Set([...before, "ganglion_indexes"])]);
		await expect(store.info()).rejects.toMatchObject({ code: 3000 });
	});

	it("lists without a write, and keeps a deleted vector for an hour, until the next write", async () => {
		let time = 1_800_000_000_000;
		const store = open({ dimensions: 2, metric: "cosine" }, { now: () => time });
		await store.create();
		const vectors = ["a", "b", "c", "d"].map((id) => ({ id, values: [1, 2] }));
		await put(store, "insert", ...vectors);
		const pointsOf = (): number | undefined => [...server.collections.values()].at(-1)?.points.size;
		server.requests.length = 0;
		const first = await store.list({ count: 2 });
		const READS = /^(?:GET|POST) .*\/points(?:\/(?:count|scroll|query))?$/;
		expect(server.requests.filter((request) => !READS.test(request))).toEqual([]);
		time += 1_000;
		const removals = (): string[] => server.requests.filter((request) => request.includes("/points/delete"));
		await store.write({ id: "m", operation: "delete", ids: vectors.map(({ id }) => id) });
		// No vector can be an hour old.
		expect(removals()).toEqual([]);
		expect(await store.info()).toMatchObject({ vectorCount: 0 });
		const cursor = first.next?.cursor ?? "";
		expect((await store.list({ count: 2, cursor })).ids).toHaveLength(2);
		expect((await store.list({ count: 2 })).ids).toEqual([]);
		time += 59 * 60_000;
		await put(store, "insert", { id: "e", values: [1, 2] });
		expect(pointsOf()).toBe(5);
		time += 2 * 60_000;
		await put(store, "insert", { id: "f", values: [1, 2] });
		expect(pointsOf()).toBe(2);
		server.requests.length = 0;
		await put(store, "insert", { id: "g", values: [1, 2] });
		expect(removals()).toEqual([]);
		await store.drop();
	});

	it("removes with a deletion what was deleted an hour before it", async () => {
		// Later than the times of the tests before it: each mark is later than the one before.
		let time = 1_900_000_000_000;
		const store = open({ dimensions: 2, metric: "cosine" }, { now: () => time });
		await store.create();
		await put(store, "insert", ...["a", "b", "c"].map((id) => ({ id, values: [1, 2] })));
		const pointsOf = (): number | undefined => [...server.collections.values()].at(-1)?.points.size;
		const points: (number | undefined)[] = [];
		for (const [id, minutes] of [
			["a", 40],
			["b", 40],
			["c", 0],
		] as const) {
			await store.write({ id: "m", operation: "delete", ids: [id] });
			points.push(pointsOf());
			time += minutes * 60_000;
		}
		expect(points).toEqual([3, 3, 2]);
		await store.drop();
	});

	it("divides a write that is larger than a server accepts", async () => {
		const store = open({ dimensions: 1_536, metric: "cosine" });
		await store.create();
		const value = 0.123_456_789_012_345;
		const vectors = Array.from({ length: 700 }, (_, at) => ({
			id: `v${at}`,
			values: Array.from({ length: 1_536 }, () => value),
		}));
		server.requests.length = 0;
		await put(store, "insert", ...vectors);
		expect(server.requests.filter((request) => /^PUT .*\/points$/.test(request))).toHaveLength(2);
		expect(await store.info()).toMatchObject({ vectorCount: 700 });
		await store.drop();
	});

	it("finds texts between two others, of any length", async () => {
		const store = open({ dimensions: 1, metric: "euclidean" });
		await store.create();
		const index = { propertyName: "text", indexType: "string" } as const;
		await store.write({ id: crypto.randomUUID(), operation: "create-metadata-index", index });
		const texts = ["", "a", "a\0", "abcdef", "abcdefg", "abcdeg", "b", "é", "\u{1F600}", "z".repeat(64)];
		await put(
			store,
			"insert",
			...texts.map((text) => ({ id: `<${text}>`, values: [1], metadata: { text } })),
		);
		await put(store, "insert", { id: "none", values: [1], metadata: { text: 5 } });
		const bytes = (text: string) => Buffer.from(text);
		for (const operator of ["$lt", "$lte", "$gt", "$gte"] as const)
			for (const value of texts) {
				const matches = await store.query(
					queryOf([1], { topK: 100, filter: [{ property: "text", operator, value }] }),
				);
				const isFound = { $lt: [-1], $lte: [-1, 0], $gt: [1], $gte: [0, 1] }[operator];
				const expected = texts.filter((text) => isFound.includes(Buffer.compare(bytes(text), bytes(value))));
				expect(matches.map(({ id }) => id).sort()).toEqual(expected.map((text) => `<${text}>`).sort());
			}
		await store.drop();
	});

	it("has numbers for texts that a server keeps exactly", () => {
		expect(orderOf("")).toEqual([]);
		expect(orderOf("\0")).toEqual([257 ** 5]);
		// The largest byte of UTF-8 is 0xf4.
		expect(orderOf("\u{10ffff}").every(Number.isSafeInteger)).toBe(true);
		expect(orderOf("z".repeat(64))).toHaveLength(11);
	});

	it("names the store in failures, and quotes no text of the server", async () => {
		const shape = { dimensions: 2, metric: "cosine" } as const;
		const failing = (status: number) =>
			open(shape, {
				fetch: async () => Response.json({ status: { error: "a secret of a payload" } }, { status }),
			});
		await expect(failing(500).create()).rejects.toMatchObject({
			code: 7009,
			description: 'The vector store "q" has refused a request (HTTP 500)',
		});
		await expect(open(shape, { apiKey: "wrong" }).create()).rejects.toMatchObject({
			description: 'The vector store "q" refuses the API key',
		});
		const html = open(shape, { fetch: async () => new Response("<html>") });
		await expect(html.info()).rejects.toMatchObject({ status: 502 });
		const lost = open(shape, { fetch: () => Promise.reject(new TypeError("connection refused")) });
		await expect(lost.info()).rejects.toMatchObject({
			description: 'The vector store "q" cannot be reached',
		});
	});
});
