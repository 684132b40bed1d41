/** The entrypoint `Vectorize` through a service binding of another Worker: each call is over RPC. */
import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

type Entrypoint = Vectorize & { fetch(request: Request): Promise<Response> };
const bound = (props: object): Entrypoint =>
	(exports as unknown as { Vectorize: (options: { props: object }) => Entrypoint }).Vectorize({ props });

/** The message of the error of a call over RPC. */
const failure = (call: Promise<unknown>): Promise<string> =>
	call.then(String, (error: Error) => error.message);

const account = `team-${crypto.randomUUID()}`;
const index = bound({
	account,
	index: "docs",
	create: { dimensions: 2, metadataIndexes: { page: "number" } },
});

describe("the entrypoint Vectorize", () => {
	it("has the methods of the runtime's class", async () => {
		await index.insert([{ id: "a", values: new Float32Array([1, 0]), metadata: { page: 1 } }]);
		await index.upsert([{ id: "b", values: [0, 1], namespace: "x" }]);
		expect(await index.describe()).toMatchObject({ dimensions: 2, vectorCount: 2 });
		expect(await index.query([1, 0], { topK: 1, returnMetadata: true })).toEqual({
			count: 1,
			matches: [{ id: "a", score: 1, metadata: { page: 1 } }],
		});
		expect(await index.queryById("b", { topK: 1 })).toMatchObject({ matches: [{ id: "b", namespace: "x" }] });
		expect(await index.query([0, 0], { filter: { page: 1 } })).toMatchObject({ count: 1 });
		expect(await index.getByIds(["b"])).toEqual([{ id: "b", values: [0, 1], namespace: "x" }]);
		await index.deleteByIds(["b"]);
		expect(await index.describe()).toMatchObject({ vectorCount: 1 });
	});

	it("throws the messages of the class", async () => {
		expect(await failure(index.query([1]))).toContain(
			"VECTOR_QUERY_ERROR (code = 40006): invalid query vector, expected 2 dimensions, and got 1 dimensions",
		);
		expect(await failure(index.query([1, 0], { returnMetadata: false }))).toContain("(code = 40026)");
	});

	it("sees no index of another account, and needs both props", async () => {
		expect(await failure(bound({ account: "another", index: "docs" }).describe())).toContain(
			'INDEX_GET_ERROR (code = 3000): vectorize.index.not_found - Index name "docs"',
		);
		expect(await failure(bound({ account }).describe())).toContain("(code = 10000)");
		const unknown = await index.fetch(new Request("http://vector-search/binding/indexes/docs"));
		expect(unknown.status).toBe(400);
		expect(await unknown.json()).toEqual({ code: 7000, error: "No route for that URI" });
	});
});
