/** Vectorize's REST API: results, limits, codes and texts of developers.cloudflare.com/vectorize. */
import { describe, expect, it } from "vitest";
import { vectorizeApi } from "./indexes.ts";

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;
const CREATED = "2026-11-21T12:00:00.000Z";

it("names fields that the product ignores, and the one that is meant", async () => {
	const api = vectorizeApi();
	await api.create("docs");
	expect(await api.post("/docs/query", { vector: [1, 0], topk: 1 })).toMatchObject({
		status: 200,
		messages: [{ code: 7001, message: 'topk: unknown, ignored; did you mean "topK"?' }],
	});
	expect(await api.post("/docs/get_by_ids", { ids: ["a"], namespace: null, x: 1 })).toMatchObject({
		messages: [{ message: "x: unknown, ignored" }],
	});
	const index = { propertyName: "folder", indexType: "string", index_type: "number" };
	expect(await api.post("/docs/metadata_index/create", index)).toMatchObject({
		messages: [{ message: 'index_type: unknown, ignored; did you mean "indexType"?' }],
	});
	const complete = { vector: [1, 0], topK: 1, filter: {}, namespace: "a", returnValues: false };
	expect(await api.post("/docs/query", { ...complete, filter: null, returnMetadata: "none" })).toMatchObject({
		status: 200,
		messages: [],
	});
});

describe("indexes", () => {
	it("are created, listed, shown and deleted", async () => {
		const api = vectorizeApi();
		const docs = {
			name: "docs",
			description: "pages",
			config: { dimensions: 3, metric: "euclidean" },
			created_on: CREATED,
			modified_on: CREATED,
		};
		expect(await api.create("docs", 3, "euclidean", { description: "pages" })).toEqual({
			status: 201,
			result: docs,
			success: true,
			errors: [],
			messages: [],
		});
		expect(
			(await api.post("", { name: "ada", config: { preset: "openai/text-embedding-ada-002" } })).result,
		).toMatchObject({
			config: { dimensions: 1_536, metric: "cosine" },
		});
		expect((await api.get("")).result.map(({ name }: { name: string }) => name)).toEqual(["ada", "docs"]);
		expect((await api.get("/docs")).result).toEqual(docs);
		expect(await api.delete("/docs")).toMatchObject({ status: 200, result: null });
		expect(await api.get("/docs")).toMatchObject({
			status: 404,
			errors: [{ code: 3000, message: 'vectorize.index.not_found - Index name "docs"' }],
		});
		expect(await api.delete("/docs")).toMatchObject({ status: 404, errors: [{ code: 3000 }] });
	});

	it("are in the store that is for them only", async () => {
		const HOSTED = { describe: async () => ({ dimensions: 2, vectorCount: 7 }), queryById: async () => ({}) };
		const store = { kind: "vectorize", binding: "HOSTED", only: "local/docs" };
		const vars = { DEFAULT_BACKEND: "simulator", VECTORS: { stores: { hosted: store } }, HOSTED };
		const api = vectorizeApi({ vars });
		expect(await api.create("docs", 2, "cosine", { store: "hosted" })).toMatchObject({
			status: 201,
			result: { store: "hosted" },
		});
		expect((await api.get("/docs/info")).result).toMatchObject({ dimensions: 2, vectorCount: 7 });
		expect(await api.create("notes", 2, "cosine", { store: "hosted" })).toMatchObject({
			status: 400,
			errors: [{ code: 1001, message: 'store: the store "hosted" is for one index, which is another one' }],
		});
	});

	it("have unique names, and a deleted one leaves nothing to the next with its name", async () => {
		const api = vectorizeApi();
		await api.create("docs");
		expect(await api.create("notes", 2, "cosine", { store: "pg" })).toMatchObject({
			status: 400,
			errors: [
				{ code: 1001, message: 'store: expected "builtin", found "pg" (further stores: VECTORS.stores)' },
			],
		});
		expect(await api.create("docs")).toMatchObject({
			status: 409,
			errors: [{ code: 3002, message: 'vectorize.index.duplicate_name - Index name "docs"' }],
		});
		await api.lines("/docs/insert", { id: "a", values: [1, 2] });
		await api.delete("/docs");
		await api.create("docs", 3);
		expect((await api.get("/docs/info")).result).toEqual({
			dimensions: 3,
			vectorCount: 0,
			processedUpToDatetime: null,
			processedUpToMutation: null,
		});
	});

	it.each([
		[{ name: "", config: { dimensions: 2, metric: "cosine" } }, "name: "],
		[{ name: "a b", config: { dimensions: 2, metric: "cosine" } }, "name: "],
		[{ name: "a".repeat(65), config: { dimensions: 2, metric: "cosine" } }, "name: "],
		[
			{ name: "docs", config: { dimensions: 0, metric: "cosine" } },
			"config.dimensions: expected at least 1, found 0",
		],
		[
			{ name: "docs", config: { dimensions: 1_537, metric: "cosine" } },
			"config.dimensions: expected at most 1536, found 1537",
		],
		[
			{ name: "docs", config: { dimensions: 2.5, metric: "cosine" } },
			"config.dimensions: expected a whole number",
		],
		[{ name: "docs", config: { dimensions: 2, metric: "manhattan" } }, 'config.metric: expected "cosine"'],
		[{ name: "docs", config: { preset: "text-embedding-4" } }, 'config.preset: expected "@cf/baai/'],
		[{ name: "docs", config: "cosine" }, "config: expected an object, found text"],
		[{ name: "docs" }, "config: expected an object, found nothing"],
	])("refuse %j", async (body, field) => {
		expect(await vectorizeApi().post("", body)).toMatchObject({
			status: 400,
			errors: [{ code: 1001, message: expect.stringContaining(field) }],
		});
	});

	it("are at most as many as the setting says", async () => {
		const api = vectorizeApi({ vars: { VECTORS: { max_indexes: 1 } } });
		expect((await api.create("docs")).status).toBe(201);
		expect(await api.create("pages")).toMatchObject({ status: 400, errors: [{ code: 1001 }] });
		await api.delete("/docs");
		expect((await api.create("pages")).status).toBe(201);
	});

	it("name an unknown index on every route", async () => {
		const api = vectorizeApi();
		const paths = ["info", "list", "metadata_index/list"].map((path) => api.get(`/absent/${path}`));
		const bodies = {
			query: { vector: [1] },
			get_by_ids: { ids: [] },
			delete_by_ids: { ids: [] },
			"metadata_index/create": { propertyName: "a", indexType: "string" },
			"metadata_index/delete": { propertyName: "a" },
		};
		const posts = Object.entries(bodies).map(([path, body]) => api.post(`/absent/${path}`, body));
		const writes = ["insert", "upsert"].map((path) => api.lines(`/absent/${path}`, { id: "a", values: [1] }));
		for (const answer of await Promise.all([...paths, ...posts, ...writes]))
			expect(answer).toMatchObject({ status: 404, errors: [{ code: 3000 }] });
	});
});

describe("vectors", () => {
	it("are written, found, shown, listed and deleted", async () => {
		const api = vectorizeApi();
		await api.create("docs");
		const { result } = await api.lines(
			"/docs/insert",
			{ id: "a", values: [1, 0], namespace: "x", metadata: { page: 1 } },
			{ id: "b", values: [0.1, 58.8], namespace: null, metadata: null },
		);
		expect(result).toEqual({ mutationId: expect.stringMatching(UUID) });
		expect((await api.get("/docs/info")).result).toMatchObject({
			dimensions: 2,
			vectorCount: 2,
			processedUpToMutation: result.mutationId,
		});
		expect(
			(await api.post("/docs/query", { vector: [1, 0], returnMetadata: "all", returnValues: true })).result,
		).toEqual({
			count: 2,
			matches: [
				{ id: "a", score: 1, values: [1, 0], namespace: "x", metadata: { page: 1 } },
				{ id: "b", score: expect.closeTo(0.0017, 3), values: [0.10000000149011612, 58.79999923706055] },
			],
		});
		expect((await api.post("/docs/query", { vectorId: "b", topK: 1 })).result).toEqual({
			count: 1,
			matches: [{ id: "b", score: expect.closeTo(1, 6) }],
		});
		expect((await api.post("/docs/query", { vectorId: "absent" })).result).toEqual({ count: 0, matches: [] });
		expect((await api.post("/docs/get_by_ids", { ids: ["absent", "a"] })).result).toEqual([
			{ id: "a", values: [1, 0], namespace: "x", metadata: { page: 1 } },
		]);
		const page = (await api.get("/docs/list?count=1")).result;
		expect(page).toEqual({
			count: 1,
			totalCount: 2,
			isTruncated: true,
			nextCursor: expect.any(String),
			cursorExpirationTimestamp: expect.stringMatching(/^20\d\d-.*Z$/),
			vectors: [{ id: "a" }],
		});
		expect(
			(await api.get(`/docs/list?count=1&cursor=${encodeURIComponent(page.nextCursor)}`)).result,
		).toEqual({
			count: 1,
			totalCount: 2,
			isTruncated: false,
			nextCursor: null,
			cursorExpirationTimestamp: null,
			vectors: [{ id: "b" }],
		});
		expect((await api.post("/docs/delete_by_ids", { ids: ["a"] })).result.mutationId).toMatch(UUID);
		expect((await api.get("/docs/info")).result.vectorCount).toBe(1);
	});

	it("come as lines in pieces, as a form, and as JSON", async () => {
		const api = vectorizeApi();
		await api.create("docs");
		const line = (id: string) => JSON.stringify({ id, values: [1, 2], metadata: { title: "Größe" } });
		const bytes = new TextEncoder().encode(`${line("a")}\r\n\n${line("b")}\n`);
		const pieces = new ReadableStream({
			start(controller) {
				for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
				controller.close();
			},
		});
		await api.post("/docs/insert", pieces, { "content-type": "application/x-ndjson" });
		const form = new FormData();
		form.set("note", line("other"));
		form.set(
			"vectors",
			new File([`${line("c")}\n${line("d")}`], "vectors.ndjson", { type: "application/x-ndjson" }),
		);
		form.set("after", line("other"));
		await api.post("/docs/upsert", form);
		await api.post("/docs/insert", { vectors: [{ id: "e", values: [3, 4] }] });
		const ids = (await api.get("/docs/list")).result.vectors.map(({ id }: { id: string }) => id);
		expect(ids).toEqual(["a", "b", "c", "d", "e"]);
		expect((await api.post("/docs/get_by_ids", { ids: ["b"] })).result[0].metadata).toEqual({
			title: "Größe",
		});
	});

	it("are read to the end before they are refused: a client that still sends gets the answer", async () => {
		const api = vectorizeApi();
		await api.create("docs", 3);
		const lines = [{ id: "wrong", values: [1] }, ...["a", "b", "c"].map((id) => ({ id, values: [1, 2, 3] }))];
		let sent = 0;
		const body = new ReadableStream(
			{
				pull(controller) {
					const vector = lines[sent++];
					if (vector) controller.enqueue(new TextEncoder().encode(`${JSON.stringify(vector)}\n`));
					else controller.close();
				},
			},
			{ highWaterMark: 0 },
		);
		expect(await api.post("/docs/insert", body, { "content-type": "application/x-ndjson" })).toMatchObject({
			status: 400,
			errors: [{ message: 'invalid vector for id="wrong", expected 3 dimensions, and got 1 dimensions' }],
		});
		expect(sent).toBe(lines.length + 1);
		expect((await api.get("/docs/info")).result.vectorCount).toBe(0);
	});

	it("have metadata indexes and filters", async () => {
		const api = vectorizeApi();
		await api.create("docs");
		const index = { propertyName: "url", indexType: "string" };
		expect((await api.post("/docs/metadata_index/create", index)).result.mutationId).toMatch(UUID);
		expect((await api.post("/docs/metadata_index/create", index)).status).toBe(200);
		expect((await api.get("/docs/metadata_index/list")).result).toEqual({ metadataIndexes: [index] });
		await api.lines(
			"/docs/insert",
			{ id: "a", values: [1, 0], metadata: { url: "/a", page: 1 } },
			{ id: "b", values: [1, 0] },
		);
		const query = { vector: [1, 0], filter: { url: { $in: ["/a", "/b"] } }, returnMetadata: "indexed" };
		expect((await api.post("/docs/query", query)).result.matches).toEqual([
			{ id: "a", score: 1, metadata: { url: "/a" } },
		]);
		expect((await api.post("/docs/query", { vector: [1, 0], filter: { url: "/a" } })).result.count).toBe(1);
		expect(await api.post("/docs/query", { vector: [1, 0], filter: { page: 1 } })).toMatchObject({
			status: 400,
			errors: [{ code: 40022, message: expect.stringContaining('"page"') }],
		});
		expect(
			(await api.post("/docs/metadata_index/delete", { propertyName: "url" })).result.mutationId,
		).toMatch(UUID);
		expect((await api.get("/docs/metadata_index/list")).result).toEqual({ metadataIndexes: [] });
		for (let number = 0; number < 10; number++)
			await api.post("/docs/metadata_index/create", { propertyName: `p${number}`, indexType: "number" });
		expect(await api.post("/docs/metadata_index/create", index)).toMatchObject({
			status: 400,
			errors: [{ code: 40028 }],
		});
	});

	it("are visible after the delay of their index", async () => {
		const api = vectorizeApi();
		expect((await api.create("docs", 2, "cosine", { delay_ms: 1_000 })).result.delay_ms).toBe(1_000);
		const { result } = await api.lines("/docs/insert", { id: "a", values: [1, 0] });
		expect((await api.get("/docs/info")).result).toMatchObject({
			vectorCount: 0,
			processedUpToMutation: null,
		});
		expect((await api.post("/docs/query", { vector: [1, 0] })).result.count).toBe(0);
		await expect
			.poll(async () => (await api.get("/docs/info")).result, { timeout: 30_000 })
			.toMatchObject({ vectorCount: 1, processedUpToMutation: result.mutationId });
		expect((await api.post("/docs/query", { vector: [1, 0] })).result.count).toBe(1);
	});

	it("need room in the account", async () => {
		const api = vectorizeApi({ vars: { VECTORS: { max_bytes: 200_000 } } });
		await api.create("docs", 1_000);
		const vector = (id: number) => ({ id: String(id), values: new Array(1_000).fill(0.5) });
		const vectors = Array.from({ length: 60 }, (_, id) => vector(id));
		expect(await api.lines("/docs/insert", ...vectors)).toMatchObject({
			status: 413,
			errors: [{ code: 3006, message: expect.stringContaining("VECTORS.max_bytes") }],
		});
		expect((await api.get("/docs/info")).result.vectorCount).toBe(0);
		expect((await api.lines("/docs/insert", vector(1))).status).toBe(200);
	});
});

describe("invalid requests", () => {
	const api = vectorizeApi();
	const created = api.create("docs", 3);
	const vector = { id: "a", values: [1, 2, 3] };
	const post = async (path: string, body: unknown) => {
		await created;
		return api.post(`/docs/${path}`, body);
	};

	it.each([
		[
			"too long an id",
			{ ...vector, id: "i".repeat(87) },
			40008,
			"id too long; max is 64 bytes, got 87 bytes",
		],
		[
			"an id of too many bytes",
			{ ...vector, id: "é".repeat(33) },
			40008,
			"id too long; max is 64 bytes, got 66 bytes",
		],
		[
			"too long a namespace",
			{ ...vector, namespace: "n".repeat(65) },
			40009,
			"namespace too long; max is 64 bytes, got 65 bytes",
		],
		[
			"too wide a vector",
			{ id: "test.txt-chunk-0", values: [1, 2, 3, 4] },
			40012,
			'invalid vector for id="test.txt-chunk-0", expected 3 dimensions, and got 4 dimensions',
		],
		[
			"a vector without values",
			{ ...vector, values: [] },
			40012,
			'invalid vector for id="a", expected 3 dimensions, and got 0 dimensions',
		],
		[
			"too large metadata",
			{ ...vector, metadata: { text: "x".repeat(10_231) } },
			40016,
			'oversized metadata for vector id="a"; the compact JSON representation of the metadata must not exceed 10240 bytes, got 10242 bytes',
		],
		["a key with a dot", { ...vector, metadata: { "a.b": 1 } }, 40015, "invalid metadata"],
		["a key with $", { ...vector, metadata: { $a: 1 } }, 40015, "invalid metadata"],
		["an empty key", { ...vector, metadata: { "": 1 } }, 40015, "invalid metadata"],
		[
			"no number",
			{ ...vector, values: [1, null, 3] },
			40023,
			"failed to parse insert vectors request in ndjson format: line Some(0) was not expected format",
		],
		["too large a number", { ...vector, values: [1, 1e39, 3] }, 40023, "line Some(0)"],
		["a text of values", { ...vector, values: "1,2,3" }, 40023, "line Some(0)"],
		["no id", { values: [1, 2, 3] }, 40023, "line Some(0)"],
		["an id that is a number", { ...vector, id: 1 }, 40023, "line Some(0)"],
	])("with %s", async (_, sent, code, message) => {
		await created;
		expect(await api.lines("/docs/insert", sent)).toMatchObject({
			status: 400,
			errors: [{ code, message: expect.stringContaining(message) }],
		});
		expect((await api.get("/docs/info")).result.vectorCount).toBe(0);
	});

	it("refuse the whole upload, or discard the lines", async () => {
		await created;
		const lines = `${JSON.stringify(vector)}\n{"id": "b", "values": [1, 2, NaN]}\n{"id":"c","values":[1,2,3],"metadata":{"t":"\\ud835"}}`;
		const type = { "content-type": "application/x-ndjson" };
		expect(await api.post("/docs/upsert", lines, type)).toMatchObject({
			status: 400,
			errors: [
				{
					code: 40023,
					message:
						"failed to parse upsert vectors request in ndjson format: line Some(1) was not expected format",
				},
			],
		});
		expect((await api.get("/docs/info")).result.vectorCount).toBe(0);
		expect((await api.post("/docs/upsert?unparsable-behavior=discard", lines, type)).status).toBe(200);
		expect((await api.post("/docs/delete_by_ids", { ids: ["a", "c"] })).status).toBe(200);
		expect(
			(await api.post("/docs/upsert", '{"id":"a","values":[1,2,3]}\xff\xfe', type)).errors[0]?.code,
		).toBe(40023);
		expect((await post("insert", { vectors: [{ ...vector, values: {} }] })).errors).toEqual([
			{ code: 40023, message: "failed to parse insert vectors request in json format" },
		]);
		expect((await api.post("/docs/insert", "", type)).errors[0]?.code).toBe(40023);
	});

	it("have too many vectors", async () => {
		await created;
		const many = Array.from({ length: 5_001 }, (_, id) => ({ id: String(id), values: [1, 2, 3] }));
		expect(await api.lines("/docs/insert", ...many)).toMatchObject({
			status: 400,
			errors: [{ code: 40011, message: "too many vectors in payload; max vector count is 5000, got 5001" }],
		});
	});

	it.each([
		["query", { vectr: [1, 2, 3] }, 'got 0 dimensions; vectr: unknown; did you mean "vector"?'],
		["get_by_ids", { id: ["a"] }, "ids: expected an array of strings"],
		["get_by_ids", { idss: ["a"] }, 'ids: expected an array of strings; idss: unknown; did you mean "ids"?'],
		["delete_by_ids", { idss: ["a"] }, 'idss: unknown; did you mean "ids"?'],
		[
			"metadata_index/create",
			{ property: "a", indexType: "string" },
			'propertyName: expected a string; property: unknown; did you mean "propertyName"?',
		],
		["metadata_index/create", { propertyName: "a", type: "string" }, "found nothing"],
		[
			"metadata_index/create",
			{ propertyName: "a", indexTyp: "string" },
			'found nothing; indexTyp: unknown; did you mean "indexType"?',
		],
	])("lack a field that %s needs, and name the one that was sent: %j", async (path, body, message) => {
		await created;
		expect(await api.post(`/docs/${path}`, body)).toMatchObject({
			status: 400,
			errors: [{ message: expect.stringContaining(message) }],
		});
	});

	it.each([
		[
			"a short vector",
			{ vector: [1, 2] },
			40006,
			"invalid query vector, expected 3 dimensions, and got 2 dimensions",
		],
		["no vector", {}, 40006, "invalid query vector, expected 3 dimensions, and got 0 dimensions"],
		["no numbers", { vector: [1, "2", 3] }, 40026, "vector: expected an array of numbers"],
		[
			"returnMetadata: false",
			{ vector: [1, 2, 3], returnMetadata: false },
			40026,
			"Failed to parse the request body as JSON: returnMetadata: expected value",
		],
		[
			"returnMetadata: true",
			{ vector: [1, 2, 3], returnMetadata: true },
			40026,
			"returnMetadata: expected value",
		],
		[
			"returnMetadata: null",
			{ vector: [1, 2, 3], returnMetadata: null },
			40026,
			"returnMetadata: expected value",
		],
		["returnValues: 1", { vector: [1, 2, 3], returnValues: 1 }, 40026, "returnValues: expected a boolean"],
		["topK 101", { vector: [1, 2, 3], topK: 101 }, 40025, "max top K is 100, but got 101"],
		[
			"topK 51 with values",
			{ vector: [1, 2, 3], topK: 51, returnValues: true },
			40025,
			"with returnValues=true or returnMetadata=all, max top K is 50, but got 51; for a top K up to 100, retry with returnValues=false and returnMetadata=indexed",
		],
		[
			"topK 100 with metadata",
			{ vector: [1, 2, 3], topK: 100, returnMetadata: "all" },
			40025,
			"max top K is 50, but got 100",
		],
		["topK 0", { vector: [1, 2, 3], topK: 0 }, 40026, "topK: expected a positive integer"],
		["a long namespace", { vector: [1, 2, 3], namespace: "n".repeat(65) }, 40009, "got 65 bytes"],
		["a long vectorId", { vectorId: "n".repeat(65) }, 40008, "got 65 bytes"],
		["a filter that is a list", { vector: [1, 2, 3], filter: [] }, 40026, "filter: expected an object"],
		[
			"an unknown operator",
			{ vector: [1, 2, 3], filter: { a: { $like: "x" } } },
			40026,
			"filter: a: expected one of $eq",
		],
		[
			"no list",
			{ vector: [1, 2, 3], filter: { a: { $in: "x" } } },
			40026,
			"filter: a.$in: expected an array",
		],
		["an object", { vector: [1, 2, 3], filter: { a: { $eq: {} } } }, 40026, "filter: a.$eq: expected"],
		[
			"a range of booleans",
			{ vector: [1, 2, 3], filter: { a: { $lt: true } } },
			40026,
			"filter: a.$lt: expected",
		],
		[
			"a property with a bar",
			{ vector: [1, 2, 3], filter: { "a|b": 1 } },
			40026,
			"filter: a property contains",
		],
		[
			"a property with $",
			{ vector: [1, 2, 3], filter: { $a: 1 } },
			40026,
			"filter: a property starts with $",
		],
		[
			"a large filter",
			{ vector: [1, 2, 3], filter: { a: "x".repeat(2_041) } },
			40026,
			"filter: expected less than 2048 bytes",
		],
	])("of a query with %s", async (_, body, code, message) => {
		expect(await post("query", body)).toMatchObject({
			status: 400,
			errors: [{ code, message: expect.stringContaining(message) }],
		});
	});

	it("with topK of 100 and of 50 are answered at the walls", async () => {
		expect((await post("query", { vector: [1, 2, 3], topK: 100, returnMetadata: "indexed" })).status).toBe(
			200,
		);
		expect(
			(await post("query", { vector: [1, 2, 3], topK: 50, returnMetadata: "all", returnValues: true }))
				.status,
		).toBe(200);
	});

	it("have too many ids", async () => {
		const ids = Array.from({ length: 105 }, String);
		expect((await post("get_by_ids", { ids: ids.slice(0, 34) })).errors).toEqual([
			{ code: 40007, message: "too many ids in payload; max id count is 20, got 34" },
		]);
		expect((await post("delete_by_ids", { ids })).errors).toEqual([
			{ code: 40007, message: "too many ids in payload; max id count is 100, got 105" },
		]);
		expect((await post("get_by_ids", { ids: [1] })).errors[0]?.code).toBe(40026);
	});

	it("have no JSON, or a wrong page", async () => {
		await created;
		expect((await api.post("/docs/query", "{", { "content-type": "application/json" })).errors[0]?.code).toBe(
			40026,
		);
		expect((await api.get("/docs/list?count=1001")).errors[0]?.code).toBe(1001);
		expect((await api.get("/docs/list?cursor=x")).errors[0]?.code).toBe(40027);
		expect(
			(await post("metadata_index/create", { propertyName: "a", indexType: "strin" })).errors[0],
		).toMatchObject({
			code: 40026,
			message: expect.stringContaining(
				'indexType: expected "string", "number" or "boolean", found "strin"; did you mean "string"?',
			),
		});
		expect(
			(await post("metadata_index/create", { propertyName: "$a", indexType: "string" })).errors[0]?.code,
		).toBe(40026);
	});
});

it("counts what an account stores and searches", async () => {
	const api = vectorizeApi();
	await api.create("docs", 3);
	await api.create("pages", 2);
	await api.lines("/docs/insert", { id: "a", values: [1, 2, 3] }, { id: "b", values: [1, 2, 3] });
	await api.lines("/pages/insert", { id: "a", values: [1, 2] });
	await api.post("/docs/query", { vector: [1, 2, 3] });
	await api.post("/docs/query", { vector: [1, 2] });
	await api.post("/pages/query", { vectorId: "a" });
	await expect
		.poll(() => api.usage())
		.toMatchObject({
			...{ indexes: 2, vectors: 3, storedDimensions: 8 },
			...{ queries: 2, queriedDimensions: 5 },
		});
	expect((await api.usage()).bytes).toBeGreaterThan(0);
	await api.delete("/docs");
	await expect
		.poll(() => api.usage())
		.toMatchObject({ indexes: 1, vectors: 1, storedDimensions: 2, queries: 2 });
});
