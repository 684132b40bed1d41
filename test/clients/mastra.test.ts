/**
 * Mastra's published Vectorize store, of which only the address is changed, by its variable. It has 290 MB with Mastra itself, so npm
 * installs it when this test runs.
 */
import { expect, inject, it } from "vitest";
import { installOnDemand } from "../../tools/clients/on-demand.ts";
import { ACCOUNT } from "./gateway.ts";

/** `@mastra/vectorize` does not work with newer versions of `@mastra/core`. */
const PACKAGES = { "@mastra/core": "0.24.9", "@mastra/vectorize": "0.11.17" };

interface Store {
	createIndex(index: { indexName: string; dimension: number; metric: string }): Promise<void>;
	deleteIndex(index: { indexName: string }): Promise<void>;
	describeIndex(index: { indexName: string }): Promise<unknown>;
	listIndexes(): Promise<string[]>;
	createMetadataIndex(index: string, property: string, type: string): Promise<void>;
	deleteMetadataIndex(index: string, property: string): Promise<void>;
	listMetadataIndexes(index: string): Promise<unknown[]>;
	upsert(sent: {
		indexName: string;
		vectors: number[][];
		metadata: object[];
		ids?: string[];
	}): Promise<string[]>;
	query(sent: {
		indexName: string;
		queryVector: number[];
		topK?: number;
		filter?: object;
		includeVector?: boolean;
	}): Promise<{ id: string; score: number; metadata?: object; vector?: number[] }[]>;
	deleteVector(vector: { indexName: string; id: string }): Promise<void>;
}

function open(Vector: new (options: object) => Store): Store {
	const before = process.env.CLOUDFLARE_BASE_URL;
	process.env.CLOUDFLARE_BASE_URL = inject("baseURL");
	try {
		return new Vector({ accountId: ACCOUNT, apiToken: "none" });
	} finally {
		if (before === undefined) delete process.env.CLOUDFLARE_BASE_URL;
		else process.env.CLOUDFLARE_BASE_URL = before;
	}
}

it("CloudflareVector of @mastra/vectorize creates, fills, searches and deletes an index", async (context) => {
	const client = await installOnDemand("mastra-vectorize", PACKAGES);
	if ("reason" in client) return context.skip(client.reason);
	const { CloudflareVector } = await client.load<{ CloudflareVector: new (options: object) => Store }>(
		"@mastra/vectorize",
	);
	const store = open(CloudflareVector);
	const indexName = "mastra";
	const index = { indexName, dimension: 3, metric: "cosine" };
	await store.createIndex(index);
	// The store accepts an index that exists with the same dimensions.
	await store.createIndex(index);
	expect(await store.listIndexes()).toContain(indexName);
	await store.createMetadataIndex(indexName, "page", "number");
	await store.createMetadataIndex(indexName, "folder", "string");
	expect(await store.listMetadataIndexes(indexName)).toEqual([
		{ propertyName: "page", indexType: "number" },
		{ propertyName: "folder", indexType: "string" },
	]);

	const ids = ["a", "b", "c"];
	const vectors = [
		[1, 0, 0],
		[1, 1, 0],
		[0, 0, 1],
	];
	const metadata = [
		{ page: 1, folder: "guides" },
		{ page: 2, folder: "guides" },
		{ page: 3, folder: "news" },
	];
	expect(await store.upsert({ indexName, vectors, metadata, ids })).toEqual(ids);
	expect(await store.describeIndex({ indexName })).toEqual({ dimension: 3, count: 3, metric: "cosine" });
	const query = { indexName, queryVector: [1, 0, 0] };
	expect(await store.query({ ...query, topK: 2, includeVector: true })).toEqual([
		{ id: "a", score: expect.closeTo(1, 6), metadata: metadata[0], vector: vectors[0] },
		{ id: "b", score: expect.closeTo(Math.SQRT1_2, 6), metadata: metadata[1], vector: vectors[1] },
	]);
	const idsOf = async (filter: object) => (await store.query({ ...query, filter })).map(({ id }) => id);
	expect(await idsOf({ page: { $gte: 2 } })).toEqual(["b", "c"]);
	expect(await idsOf({ folder: { $in: ["news", "none"] } })).toEqual(["c"]);
	expect(await idsOf({ folder: "guides", page: { $lt: 2 } })).toEqual(["a"]);

	await store.deleteVector({ indexName, id: "a" });
	expect(await idsOf({})).toEqual(["b", "c"]);
	await store.deleteMetadataIndex(indexName, "page");
	expect(await store.listMetadataIndexes(indexName)).toHaveLength(1);
	await store.deleteIndex({ indexName });
	expect(await store.listIndexes()).not.toContain(indexName);
	await expect(store.query(query)).rejects.toThrow(/3000|index/i);
});
