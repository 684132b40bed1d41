/** Vectorize with the published `cloudflare` SDK and with `wrangler vectorize`, of which only the address is changed. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Cloudflare, { toFile } from "cloudflare";
import { afterAll, describe, expect, inject, it } from "vitest";
import { ACCOUNT } from "./gateway.ts";
import { wranglerIn } from "./wrangler.ts";

const home = mkdtempSync(join(tmpdir(), "ganglion-vectorize-"));
afterAll(() => rmSync(home, { recursive: true, maxRetries: 5 }));

const account_id = ACCOUNT;
const { indexes } = new Cloudflare({ baseURL: inject("baseURL"), apiToken: "none", maxRetries: 0 }).vectorize;

const lines = (...vectors: object[]): string => vectors.map((vector) => JSON.stringify(vector)).join("\n");

describe("the cloudflare SDK", () => {
	it("creates, fills, searches and deletes an index", async () => {
		const config = { dimensions: 3, metric: "euclidean" } as const;
		expect(await indexes.create({ account_id, name: "sdk", config, description: "of a test" })).toMatchObject(
			{
				name: "sdk",
				config,
				description: "of a test",
				created_on: expect.any(String),
			},
		);
		await indexes.metadataIndex.create("sdk", { account_id, propertyName: "url", indexType: "string" });
		expect(await indexes.metadataIndex.list("sdk", { account_id })).toEqual({
			metadataIndexes: [{ propertyName: "url", indexType: "string" }],
		});
		const body = lines(
			{ id: "a", values: [1, 0, 0], metadata: { url: "/a" } },
			{ id: "b", values: [0, 1, 0], namespace: "x" },
		);
		const inserted = await indexes.insert("sdk", {
			account_id,
			body: await toFile(Buffer.from(body), "vectors.ndjson"),
		});
		expect(inserted?.mutationId).toMatch(/^[\da-f-]{36}$/);
		const replaced = lines({ id: "b", values: [0, 3, 0] });
		await indexes.upsert("sdk", { account_id, body: await toFile(Buffer.from(replaced), "vectors.ndjson") });
		expect(await indexes.info("sdk", { account_id })).toMatchObject({ dimensions: 3, vectorCount: 2 });
		expect(await indexes.query("sdk", { account_id, vector: [1, 0, 0], returnMetadata: "all" })).toEqual({
			count: 2,
			matches: [
				{ id: "a", score: 0, metadata: { url: "/a" } },
				{ id: "b", score: expect.closeTo(Math.sqrt(10), 6) },
			],
		});
		const filtered = await indexes.query("sdk", { account_id, vector: [0, 0, 0], filter: { url: "/a" } });
		expect(filtered?.count).toBe(1);
		expect(await indexes.getByIDs("sdk", { account_id, ids: ["b"] })).toEqual([
			{ id: "b", values: [0, 3, 0] },
		]);
		expect(await indexes.listVectors("sdk", { account_id, count: 1 })).toMatchObject({
			isTruncated: true,
			vectors: [{ id: "a" }],
		});
		await indexes.deleteByIDs("sdk", { account_id, ids: ["a"] });
		expect(await indexes.info("sdk", { account_id })).toMatchObject({ vectorCount: 1 });
		const names: (string | undefined)[] = [];
		for await (const index of indexes.list({ account_id })) names.push(index.name);
		expect(names).toContain("sdk");
		await indexes.delete("sdk", { account_id });
		await expect(indexes.get("sdk", { account_id })).rejects.toMatchObject({
			status: 404,
			errors: [{ code: 3000, message: 'vectorize.index.not_found - Index name "sdk"' }],
		});
	});
});

describe("wrangler vectorize", () => {
	const run = wranglerIn(home, "vectorize");
	const wrangler = async (...args: string[]): Promise<string> => (await run(...args)).stdout;

	it("creates an index, inserts a file, searches and deletes it", async () => {
		const created = await wrangler("create", "cli", "--dimensions", "2", "--metric", "cosine");
		expect(created).toContain("Successfully created a new Vectorize index: 'cli'");
		await wrangler("create-metadata-index", "cli", "--property-name", "page", "--type", "number");
		const file = join(home, "vectors.ndjson");
		writeFileSync(
			file,
			lines(
				{ id: "a", values: [1, 0], metadata: { page: 1 } },
				{ id: "b", values: [0, 1], metadata: { page: 2 } },
			),
		);
		expect(await wrangler("insert", "cli", "--file", file)).toContain("Successfully enqueued 2 vectors");
		const found = await wrangler(
			"query",
			"cli",
			"--vector",
			"1",
			"0",
			"--filter",
			'{"page":{"$gt":1}}',
			"--return-metadata",
			"all",
		);
		expect(JSON.parse(found.slice(found.indexOf("{")))).toMatchObject({
			count: 1,
			matches: [{ id: "b", score: 0, metadata: { page: 2 } }],
		});
		const [vectors, info, list] = await Promise.all([
			wrangler("get-vectors", "cli", "--ids", "a"),
			wrangler("info", "cli", "--json"),
			wrangler("list-vectors", "cli", "--json"),
		]);
		expect(vectors).toContain('"id": "a"');
		expect(info).toContain('"vectorCount": 2');
		expect(list).toContain('"b"');
		await wrangler("delete-vectors", "cli", "--ids", "a", "b");
		expect(await wrangler("delete", "cli", "--force")).toContain("Deleted");
		await expect(wrangler("get", "cli")).rejects.toMatchObject({
			stderr: expect.stringContaining('vectorize.index.not_found - Index name "cli" [code: 3000]'),
		});
	});
});
