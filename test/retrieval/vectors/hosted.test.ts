/** The kind `vectorize` against a scripted API of the product, and a scripted binding. */
import { describe, expect, it } from "vitest";
import type { VectorIndexRecord, VectorShape } from "../../../src/retrieval/vectors/records.ts";
import type { ExternalIndex, StoreServices } from "../../../src/retrieval/vectors/stores/external-store.ts";
import type {
	BoundVectorize,
	VectorizeSetting,
} from "../../../src/retrieval/vectors/stores/store-settings.ts";
import { vectorize } from "../../../src/retrieval/vectors/stores/vectorize/index.ts";
import type { VectorStore } from "../../../src/retrieval/vectors/vector-store.ts";
import { put, queryOf, vectorStoreContract } from "./contract.ts";
import { HOSTED_ACCOUNT, hostedServer } from "./hosted-server.ts";

const server = hostedServer();

const services = (fetch: typeof globalThis.fetch): StoreServices => ({
	fetch,
	connect: () => {
		throw new Error("no connection");
	},
	now: Date.now,
	wait: async () => {},
});

const recordOf = (shape: VectorShape): VectorIndexRecord => ({
	...{ ...shape, name: "docs", store: "hosted", createdAt: 0, modifiedAt: 0, delayMs: 0 },
	object: `local/${crypto.randomUUID()}`,
});

const open = (
	shape: VectorShape,
	setting: Partial<VectorizeSetting> = { account: HOSTED_ACCOUNT },
	{ fetch = server.fetch, ...external }: Partial<ExternalIndex> & { fetch?: typeof globalThis.fetch } = {},
): VectorStore =>
	vectorize(
		{ kind: "vectorize", ...setting },
		services(fetch),
	)({ index: recordOf(shape), name: "hosted", ...external });

/** The methods of the runtime's class, with its errors. */
function bindingOf(name: string): BoundVectorize {
	const call = async (operation: string, method: string, path: string, body?: object | string) => {
		const isJson = typeof body === "object";
		const response = await server.fetch(
			`${HOSTED_ACCOUNT.url}/accounts/${HOSTED_ACCOUNT.id}/vectorize/v2/indexes/${name}/${path}`,
			{
				...{ method, ...(body !== undefined && { body: isJson ? JSON.stringify(body) : body }) },
				headers: {
					authorization: `Bearer ${HOSTED_ACCOUNT.token}`,
					...(body !== undefined && { "content-type": isJson ? "application/json" : "application/x-ndjson" }),
				},
			},
		);
		const { errors, result } = await response.json<{
			result: unknown;
			errors: { code: number; message: string }[];
		}>();
		const [error] = errors;
		if (error) throw new Error(`${operation}_ERROR (code = ${error.code}): ${error.message}`);
		return result;
	};
	const lines = (vectors: object[]): string => {
		if (vectors.length > 1_000) throw new Error("VECTOR_INSERT_ERROR (code = 40011): too many vectors");
		return vectors.map((vector) => JSON.stringify(vector)).join("\n");
	};
	return {
		describe: () => call("INDEX_GET", "GET", "info"),
		query: (vector, options) => call("VECTOR_QUERY", "POST", "query", { ...options, vector }),
		queryById: (vectorId, options) => call("VECTOR_QUERY", "POST", "query", { ...options, vectorId }),
		insert: async (vectors) => call("VECTOR_INSERT", "POST", "insert", lines(vectors)),
		upsert: async (vectors) => call("VECTOR_UPSERT", "POST", "upsert", lines(vectors)),
		getByIds: (ids) => call("VECTOR_GET", "POST", "get_by_ids", { ids }),
		deleteByIds: (ids) => call("VECTOR_DELETE", "POST", "delete_by_ids", { ids }),
	};
}

/** A hosted index that exists. */
function existing({ dimensions, metric }: VectorShape): string {
	const name = `existing-${crypto.randomUUID().slice(0, 8)}`;
	server.indexes.set(name, {
		...{ config: { dimensions, metric }, vectors: new Map(), properties: [], lastProperty: 0 },
		...{ pending: [], lists: new Map() },
	});
	return name;
}

vectorStoreContract({ name: "vectorize, over REST", open, isExact: false });
vectorStoreContract({
	name: "vectorize, by a binding and REST",
	open(shape) {
		const index = existing(shape);
		return open(shape, { account: HOSTED_ACCOUNT, binding: bindingOf(index), index });
	},
	isExact: false,
});

describe("the kind vectorize", () => {
	const shape = { dimensions: 2, metric: "cosine" } as const;

	it("creates an index of its own, and deletes it", async () => {
		const before = server.indexes.size;
		const store = open(shape);
		await store.create();
		await store.create();
		expect(server.indexes.size).toBe(before + 1);
		expect([...server.indexes.keys()].at(-1)).toMatch(/^ganglion-[\da-f]{32}$/);
		await store.drop();
		await store.drop();
		expect(server.indexes.size).toBe(before);
		await expect(store.info()).rejects.toMatchObject({ code: 3000 });
	});

	it("uses an index that exists, and leaves it", async () => {
		const index = existing(shape);
		const store = open(shape, { account: HOSTED_ACCOUNT, index });
		await store.create();
		await put(store, "insert", { id: "a", values: [1, 2] });
		await store.drop();
		expect(server.indexes.get(index)?.vectors.size).toBe(1);
		await expect(
			open({ dimensions: 3, metric: "cosine" }, { account: HOSTED_ACCOUNT, index }).create(),
		).rejects.toMatchObject({
			code: 1001,
			description:
				'config: the index in the store "hosted" has 2 dimensions and the metric cosine, found 3 dimensions and the metric cosine',
		});
	});

	it("works with a binding alone, and names what a binding lacks", async () => {
		const store = open(shape, { binding: bindingOf(existing(shape)) });
		await store.create();
		await put(store, "insert", { id: "a", values: [1, 2] });
		expect((await store.query(queryOf([1, 2]))).map(({ id }) => id)).toEqual(["a"]);
		await expect(store.list({ count: 1 })).rejects.toMatchObject({ status: 400 });
		await expect(store.metadataIndexes()).rejects.toMatchObject({ status: 400 });
		await expect(
			open({ dimensions: 3, metric: "cosine" }, { binding: bindingOf(existing(shape)) }).create(),
		).rejects.toMatchObject({ code: 1001 });
	});

	it("shows the product's mutations, which are visible later", async () => {
		const delayed = hostedServer({ isDelayed: true });
		const sizes: object[] = [];
		const store = open(
			shape,
			{ account: HOSTED_ACCOUNT },
			{ fetch: delayed.fetch, written: (size) => sizes.push(size) },
		);
		await store.create();
		const id = await put(store, "insert", { id: "a", values: [1, 2] });
		expect(await store.info()).toEqual({ vectorCount: 0 });
		expect(await store.get(["a"])).toEqual([]);
		delayed.apply();
		expect(await store.info()).toMatchObject({ vectorCount: 1, processedMutation: id });
		await put(store, "insert", { id: "b", values: [1, 2] });
		expect(sizes).toEqual([
			{ vectors: 0, bytes: 0 },
			{ vectors: 1, bytes: 8 },
		]);
	});

	it("divides what is more than one request of the product can have", async () => {
		const index = existing(shape);
		for (const setting of [
			{ account: HOSTED_ACCOUNT, index },
			{ account: HOSTED_ACCOUNT, index, binding: bindingOf(index) },
		]) {
			const store = open(shape, setting);
			const ids = Array.from({ length: 1_201 }, (_, at) => `v${at}`);
			await put(store, "upsert", ...ids.map((id, at) => ({ id, values: [at, 1] })));
			expect(await store.info()).toMatchObject({ vectorCount: 1_201 });
			const some = ids.slice(0, 130);
			expect((await store.get(some)).map(({ id }) => id)).toEqual(some);
			await store.write({ id: crypto.randomUUID(), operation: "delete", ids: some });
			expect(await store.info()).toMatchObject({ vectorCount: 1_071 });
		}
	});

	it.each([
		[400, 40_025, "max top K is 100, but got 101", { code: 40_025, status: 400 }],
		[429, 40_041, "Too Many Requests", { code: 7009, description: /takes no more writes now/ }],
		[403, 10_000, "Authentication error: sk-secret", { code: 7009, description: /refuses the token$/ }],
		[500, 1_234, "a secret", { code: 7009, description: /has refused the request \(code 1234\)$/ }],
	])("passes %i %i on as a failure of its own", async (status, code, message, expected) => {
		const fetch = async () => Response.json({ success: false, errors: [{ code, message }] }, { status });
		const failure = await open(shape, { account: HOSTED_ACCOUNT }, { fetch })
			.query(queryOf([1, 2]))
			.then(
				() => ({}) as Record<string, unknown>,
				(error: Record<string, unknown>) => error,
			);
		expect(failure).toMatchObject({ code: expected.code });
		if ("description" in expected) expect(failure.description).toMatch(expected.description ?? /./);
	});

	it("does not depend on an answer that is JSON", async () => {
		const fetch = async () => new Response("<html>", { status: 502 });
		await expect(open(shape, { account: HOSTED_ACCOUNT }, { fetch }).info()).rejects.toMatchObject({
			description: 'The vector store "hosted" has answered HTTP 502',
		});
	});
});
