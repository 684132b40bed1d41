/** Moves of indexes from one store to another, while they are written. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { VectorRegistryCalls } from "../../../src/retrieval/vectors/client/vector-objects.ts";
import { writeMutation } from "../../../src/retrieval/vectors/client/write-mutation.ts";
import { moveHandler } from "../../../src/retrieval/vectors/move-work.ts";
import type { VectorStore } from "../../../src/retrieval/vectors/vector-store.ts";
import { PermanentWorkError, PostponedWork } from "../../../src/storage/queue/work.ts";
import { testServices } from "../../gateway.ts";
import { vectorizeApi } from "../../surfaces/vectorize/indexes.ts";
import { put } from "./contract.ts";
import { HOSTED_ACCOUNT, hostedServer } from "./hosted-server.ts";
import { qdrantServer } from "./qdrant-server.ts";

const VECTORS = {
	stores: {
		q: { kind: "qdrant", url: "http://qdrant:6333" },
		hosted: { kind: "vectorize", url: HOSTED_ACCOUNT.url, account: HOSTED_ACCOUNT.id, key: "HOSTED_TOKEN" },
	},
};

function gateway(fetch: typeof globalThis.fetch) {
	const vars = { DEFAULT_BACKEND: "simulator", VECTORS, HOSTED_TOKEN: HOSTED_ACCOUNT.token };
	const services = testServices({ vars, fetch });
	const { vectorIndexes } = services;
	const { moves } = vectorIndexes;
	let fence = 0;
	let now = Date.parse("2026-11-21T12:00:00Z");
	/** One run of the work. `true`: it must run again. */
	async function run(name: string): Promise<boolean> {
		const move = await moves.last("local", name);
		const payload = { index: name, object: move?.target.object };
		fence++;
		const work = { account: "local", kind: "vectors", key: "move", payload, fence, attempt: 1 };
		now += 1_000;
		try {
			const handler = moveHandler(moves, () => now);
			await handler.run({ ...work, signal: new AbortController().signal, progress: () => {} });
			return false;
		} catch (error) {
			if (error instanceof PermanentWorkError) {
				await moves.end("local", name, { phase: "failed", error: error.message });
				return false;
			}
			if (error instanceof PostponedWork || (error instanceof Error && error.message.includes("7009")))
				return true;
			throw error;
		}
	}
	return {
		...{ moves, run, vectorIndexes },
		create: (name: string, dimensions = 2) =>
			vectorIndexes.create("local", { name, dimensions, metric: "euclidean" }),
		open: async (name: string) => (await vectorIndexes.open("local", name)).store,
		async toEnd(name: string, between: () => Promise<void> = async () => {}) {
			for (let runs = 1; runs <= 100; runs++) {
				if (!(await run(name))) return runs;
				await between();
			}
			throw new Error("the move does not end");
		},
	};
}

async function contentOf(store: VectorStore): Promise<Map<string, string>> {
	const ids: string[] = [];
	let cursor: string | undefined;
	do {
		const page = await store.list({ count: 1_000, ...(cursor !== undefined && { cursor }) });
		ids.push(...page.ids);
		cursor = page.next?.cursor;
	} while (cursor !== undefined);
	const vectors = await store.get(ids);
	return new Map(
		vectors.map(({ id, metadata, namespace, values }) => [
			id,
			JSON.stringify([namespace, metadata && JSON.parse(metadata), [...values]]),
		]),
	);
}

type Sent = { id: string; values: number[]; namespace?: string; metadata?: object };
const shown = ({ metadata, namespace, values }: Sent) => JSON.stringify([namespace, metadata, values]);

const vectorOf = (number: number, version = 0): Sent => ({
	...{ id: `v${number}`, values: [number, version], metadata: { number, version } },
	...(number % 3 === 0 && { namespace: "third" }),
});

/** Calls of the new store that fail. */
const LOST_CALLS = new Set([2, 22, 25, 31, 38, 44, 49, 55, 60, 71]);

describe("a move", () => {
	it("loses nothing that is written meanwhile, and goes on after each failure", async () => {
		const server = qdrantServer();
		const expected = new Map<string, string>();
		let calls = 0;
		let versions = 0;
		// Some calls of the new store fail. Before others, vectors that are and that are not copied change.
		const fetch: typeof globalThis.fetch = async (input, init) => {
			calls++;
			if (LOST_CALLS.has(calls)) throw new TypeError("connection lost");
			const isCopying = (await moves.last("local", "docs"))?.phase === "copying";
			if (calls > 20 && calls % 2 === 0 && isCopying) await change();
			return server.fetch(input, init);
		};
		const { create, moves, open, run, toEnd, vectorIndexes } = gateway(fetch);
		const write = async (operation: "insert" | "upsert", vectors: Sent[]) => {
			const { store } = await vectorIndexes.open("local", "docs");
			await put(store, operation, ...vectors);
			for (const vector of vectors) expected.set(vector.id, shown(vector));
		};
		async function change(): Promise<void> {
			versions++;
			const step = versions;
			await write("upsert", [
				vectorOf(step, step),
				vectorOf(1_200 - step, step),
				vectorOf(2_000 + step, step),
			]);
			const { store } = await vectorIndexes.open("local", "docs");
			const ids = [`v${100 + step}`, `v${800 + step}`];
			await store.write({ id: crypto.randomUUID(), operation: "delete", ids });
			for (const id of ids) expected.delete(id);
		}
		await create("docs");
		const index = { propertyName: "number", indexType: "number" } as const;
		await (await open("docs")).write({ id: crypto.randomUUID(), operation: "create-metadata-index", index });
		for (let first = 0; first < 1_200; first += 400)
			await write(
				"insert",
				Array.from({ length: 400 }, (_, at) => vectorOf(first + at)),
			);

		expect(await moves.start("local", "docs", "q")).toMatchObject({ phase: "starting" });
		expect(await moves.start("local", "docs", "q")).toMatchObject({ phase: "starting" });
		// A process is killed between two runs, and writes go on.
		const runs = await toEnd("docs", change);
		expect(runs).toBeGreaterThan(3);
		expect(versions).toBeGreaterThan(5);
		expect(await moves.last("local", "docs")).toMatchObject({ phase: "completed" });
		expect(await run("docs")).toBe(false);

		expect((await vectorIndexes.get("local", "docs")).store).toBe("q");
		calls = Number.NEGATIVE_INFINITY;
		// This isolate knows the old store for some seconds. A write goes to the new one.
		await write("upsert", [vectorOf(9_999)]);
		const store = await open("docs");
		expect([...(await contentOf(store))].sort()).toEqual([...expected].sort());
		expect(await store.metadataIndexes()).toEqual([index]);
		const moved = [...server.collections.values()].find(({ points: all }) => all.size > 1)?.points;
		const live = [...(moved?.values() ?? [])].filter(({ payload }) => payload.deleted === 0);
		expect(live).toHaveLength(expected.size);
	});

	it("goes from and to the hosted product, whose writes are visible later", async () => {
		const hosted = hostedServer({ isDelayed: true });
		const { create, moves, open, toEnd, vectorIndexes } = gateway(hosted.fetch);
		await create("docs");
		await put(await open("docs"), "insert", ...[1, 2, 3].map((number) => vectorOf(number)));
		await moves.start("local", "docs", "hosted");
		await toEnd("docs", async () => hosted.apply());
		expect((await vectorIndexes.get("local", "docs")).store).toBe("hosted");
		// What was copied last is visible when the index is in its new store.
		const store = await open("docs");
		expect((await contentOf(store)).size).toBe(3);
		// Not visible when the next move begins.
		await put(store, "upsert", vectorOf(3, 7));
		await put(store, "insert", vectorOf(4));
		await moves.start("local", "docs", "builtin");
		await toEnd("docs", async () => hosted.apply());
		const back = await contentOf(await open("docs"));
		expect([...back].sort()).toEqual(
			[vectorOf(1), vectorOf(2), vectorOf(3, 7), vectorOf(4)].map((vector) => [vector.id, shown(vector)]),
		);
	});

	it("waits for a write that has begun, and lets writes wait for its last copies", async () => {
		const server = qdrantServer();
		const { create, moves, open, run, toEnd } = gateway(server.fetch);
		const { object } = await create("docs");
		await put(await open("docs"), "insert", vectorOf(1));
		await moves.start("local", "docs", "q");
		const mutation = { object, bytes: 0, maxBytes: 1_000_000, ids: ["v1"] };
		const begun = await moves.call("local", (registry) => registry.begin("docs", mutation));
		expect(begun).toEqual({ outcome: "write", number: expect.any(Number) });
		expect(await run("docs")).toBe(true);
		expect(await run("docs")).toBe(true);
		expect(await moves.last("local", "docs")).toMatchObject({ phase: "switching" });
		const late = await moves.call("local", (registry) => registry.begin("docs", mutation));
		expect(late).toEqual({ outcome: "wait" });
		await expect(put(await open("docs"), "upsert", vectorOf(1, 5))).rejects.toMatchObject({
			code: 7009,
			description: "The index is being moved to another store: repeat the write",
		});
		if (begun.outcome === "write")
			await moves.call("local", async (registry) => registry.end(begun.number ?? 0));
		await toEnd("docs");
		const moved = await moves.call("local", (registry) => registry.begin("docs", mutation));
		expect(moved).toMatchObject({ outcome: "moved", record: { store: "q" } });
	});

	it("waits 15 seconds for a writer that is silent, and longer for one that renews its write", async () => {
		vi.useFakeTimers({ toFake: ["Date"] });
		onTestFinished(() => void vi.useRealTimers());
		const { create, moves, open } = gateway(qdrantServer().fetch);
		const { object } = await create("docs");
		await put(await open("docs"), "insert", vectorOf(1));
		await moves.start("local", "docs", "q");
		const registry = <Value>(method: (calls: VectorRegistryCalls) => Promise<Value>) =>
			moves.call("local", method);
		const mutation = { object, bytes: 0, maxBytes: 1_000_000, ids: ["v1"] };
		const begun = await registry((calls) => calls.begin("docs", mutation));
		const number = begun.outcome === "write" ? (begun.number ?? 0) : 0;
		const running = async () => (await registry((calls) => calls.pending("docs"))).mutations;
		vi.advanceTimersByTime(14_000);
		await registry((calls) => calls.renew(number));
		vi.advanceTimersByTime(14_000);
		expect(await running()).toBe(1);
		vi.advanceTimersByTime(1_000);
		expect(await running()).toBe(0);
		// The writer learns that the move may lack its write.
		expect(await registry((calls) => calls.end(number))).toBe(false);
	});

	it("has a write again that its writer could not renew in time", async () => {
		vi.useFakeTimers({ toFake: ["Date"] });
		onTestFinished(() => void vi.useRealTimers());
		const { create, moves, open, vectorIndexes } = gateway(qdrantServer().fetch);
		await create("docs");
		await moves.start("local", "docs", "q");
		const store = await open("docs");
		let writes = 0;
		const slow = {
			...store,
			async write() {
				writes++;
				if (writes > 1) return "second";
				vi.advanceTimersByTime(16_000);
				await moves.call("local", (calls) => calls.pending("docs"));
				return "first";
			},
		};
		const mutation = { id: crypto.randomUUID(), operation: "delete", ids: ["v1"] } as const;
		const written = await writeMutation(mutation, await vectorIndexes.get("local", "docs"), {
			...{ maxBytes: 1_000_000, wait: (ms) => scheduler.wait(ms), moved: () => {}, storeOf: () => slow },
			call: (method) => moves.call("local", method),
		});
		expect([written, writes]).toEqual(["second", 2]);
		expect(await moves.call("local", (calls) => calls.pending("docs"))).toEqual({ mutations: 0, changes: 1 });
	});

	it("fails with the reason, and leaves the index where it is", async () => {
		const { create, moves, open, toEnd, vectorIndexes } = gateway(async () =>
			Response.json({ success: false, errors: [{ code: 40_016, message: "oversized" }] }, { status: 400 }),
		);
		await create("docs");
		await put(await open("docs"), "insert", vectorOf(1));
		await moves.start("local", "docs", "hosted");
		await toEnd("docs");
		expect(await moves.last("local", "docs")).toMatchObject({ phase: "failed", error: "oversized" });
		expect((await vectorIndexes.get("local", "docs")).store).toBe("builtin");
		await put(await open("docs"), "insert", vectorOf(2));
		expect((await contentOf(await open("docs"))).size).toBe(2);
	});
});

describe("the routes of moves", () => {
	const api = () =>
		vectorizeApi({
			vars: { DEFAULT_BACKEND: "simulator", VECTORS, HOSTED_TOKEN: HOSTED_ACCOUNT.token },
			fetch: qdrantServer().fetch,
		});

	it("begin, show and cancel a move", async () => {
		const { create, delete: remove, get, post } = api();
		await create("docs");
		const starting = { status: "starting", store: "q", total: 0, copied: 0 };
		expect(await get("/docs/move")).toMatchObject({
			status: 400,
			errors: [{ code: 1001, message: "the index has not been moved" }],
		});
		expect((await post("/docs/move", { store: "q" })).result).toEqual(starting);
		expect((await post("/docs/move", { store: "q" })).result).toEqual(starting);
		expect(await post("/docs/move", { store: "hosted" })).toMatchObject({
			status: 400,
			errors: [{ code: 1001, message: 'store: the index moves to the store "q"' }],
		});
		expect((await get("/docs/move")).result).toEqual(starting);
		expect((await remove("/docs/move")).result).toEqual({ ...starting, status: "cancelled" });
		expect((await get("/docs/move")).result).toEqual({ ...starting, status: "cancelled" });
		expect((await remove("/docs/move")).result).toEqual({ ...starting, status: "cancelled" });
		expect((await get("/docs/info")).status).toBe(200);
	});

	it.each([
		["/docs/move", { store: "builtin" }, 'store: the index is in the store "builtin"'],
		["/docs/move", { store: "qq" }, 'store: expected "builtin", "q" or "hosted", found "qq"'],
		["/docs/move", {}, "store: expected text, found nothing"],
		["/absent/move", { store: "q" }, 'vectorize.index.not_found - Index name "absent"'],
	])("refuse %s %j", async (path, body, message) => {
		const { create, post } = api();
		await create("docs");
		expect((await post(path, body)).errors[0]?.message).toBe(message);
	});
});
