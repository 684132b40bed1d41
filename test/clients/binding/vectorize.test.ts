/**
 * The runtime's own `VectorizeIndex` class: its results, the messages of its errors, and the calls of workerd's vectorize-api-test
 * (src/cloudflare/internal/test/vectorize at 6552d999). The server of that test differs from the product, and so from this gateway: it
 * ignores `topK` and the width of a query, takes vectors without values, and accepts `returnMetadata: false`.
 */
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const { LATE_VECTORIZE, VECTORIZE } = env as unknown as Record<"LATE_VECTORIZE" | "VECTORIZE", Vectorize>;
const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

const failure = async (call: Promise<unknown>): Promise<{ message: string; cause: string }> => {
	try {
		await call;
	} catch (error) {
		if (error instanceof Error && error.cause instanceof Error)
			return { message: error.message, cause: error.cause.message };
	}
	throw new Error("expected an error with a cause");
};

describe("env.VECTORIZE", () => {
	it("is the runtime's own", () => {
		expect(VECTORIZE.constructor.name).toBe("VectorizeIndexImpl");
	});

	it("describes an index that is new, and one with vectors", async () => {
		expect(await VECTORIZE.describe()).toEqual({
			dimensions: 3,
			vectorCount: 0,
			processedUpToDatetime: expect.stringMatching(/Z$/),
			processedUpToMutation: expect.stringMatching(UUID),
		});
		const { mutationId } = await VECTORIZE.insert([
			{ id: "described", values: new Float32Array([1, 2, 3]) },
			{ id: "other", values: new Float64Array([4, 5, 6]), namespace: "x", metadata: { page: 1 } },
		]);
		expect(mutationId).toMatch(UUID);
		expect(await VECTORIZE.describe()).toMatchObject({ vectorCount: 2, processedUpToMutation: mutationId });
		await VECTORIZE.deleteByIds(["described", "other"]);
	});

	it("inserts, upserts, gets and deletes", async () => {
		await VECTORIZE.insert([{ id: "a", values: [1, 2, 58.8] }]);
		await VECTORIZE.insert([{ id: "a", values: [9, 9, 9] }]);
		expect(await VECTORIZE.getByIds(["a", "absent"])).toEqual([
			{ id: "a", values: [1, 2, 58.79999923706055] },
		]);
		const upserted = await VECTORIZE.upsert([
			{ id: "a", values: [4, 5, 6], namespace: "x", metadata: { page: 2 } },
		]);
		expect(upserted).toEqual({ mutationId: expect.stringMatching(UUID) });
		expect(await VECTORIZE.getByIds(["a"])).toEqual([
			{ id: "a", values: [4, 5, 6], namespace: "x", metadata: { page: 2 } },
		]);
		expect(await VECTORIZE.deleteByIds(["a"])).toEqual({ mutationId: expect.stringMatching(UUID) });
		expect(await VECTORIZE.getByIds(["a"])).toEqual([]);
	});

	it("searches by a vector and by an id", async () => {
		await VECTORIZE.upsert([
			{ id: "a", values: [1, 0, 0], metadata: { page: 1, title: "One" } },
			{ id: "b", values: [0, 2, 0], namespace: "x", metadata: { page: 2 } },
		]);
		expect(await VECTORIZE.query([1, 0, 0])).toEqual({
			count: 2,
			matches: [
				{ id: "a", score: 0 },
				{ id: "b", score: expect.closeTo(Math.sqrt(5), 6), namespace: "x" },
			],
		});
		expect(
			await VECTORIZE.query(new Float32Array([1, 0, 0]), {
				topK: 1,
				returnValues: true,
				returnMetadata: true,
			}),
		).toEqual({
			count: 1,
			matches: [{ id: "a", score: 0, values: [1, 0, 0], metadata: { page: 1, title: "One" } }],
		});
		expect(await VECTORIZE.queryById("b", { topK: 1, returnMetadata: "indexed" })).toEqual({
			count: 1,
			matches: [{ id: "b", score: 0, namespace: "x", metadata: { page: 2 } }],
		});
		const filtered = await VECTORIZE.query([0, 0, 0], { namespace: "x", filter: { page: { $gte: 2 } } });
		expect(filtered.matches.map(({ id }) => id)).toEqual(["b"]);
		await VECTORIZE.deleteByIds(["a", "b"]);
	});

	it.each<[() => Promise<unknown>, string, string]>([
		[
			() => VECTORIZE.query([1]),
			"VECTOR_QUERY",
			"(code = 40006): invalid query vector, expected 3 dimensions, and got 1 dimensions",
		],
		[
			() => VECTORIZE.query([]),
			"VECTOR_QUERY",
			"(code = 40006): invalid query vector, expected 3 dimensions, and got 0 dimensions",
		],
		[
			() => VECTORIZE.getByIds(Array.from({ length: 34 }, String)),
			"VECTOR_GET",
			"(code = 40007): too many ids in payload; max id count is 20, got 34",
		],
		[
			() => VECTORIZE.deleteByIds(Array.from({ length: 105 }, String)),
			"VECTOR_DELETE",
			"(code = 40007): too many ids in payload; max id count is 100, got 105",
		],
		[
			() => VECTORIZE.upsert([{ id: "i".repeat(87), values: [1, 2, 3] }]),
			"VECTOR_UPSERT",
			"(code = 40008): id too long; max is 64 bytes, got 87 bytes",
		],
		[
			() => VECTORIZE.insert([{ id: "a", values: [1] }]),
			"VECTOR_INSERT",
			'(code = 40012): invalid vector for id="a", expected 3 dimensions, and got 1 dimensions',
		],
		[
			() => VECTORIZE.insert([{ id: "a", values: [1, Number.NaN, 3] }]),
			"VECTOR_INSERT",
			"(code = 40023): failed to parse insert vectors request in ndjson format: line Some(0) was not expected format",
		],
		[
			() =>
				VECTORIZE.upsert(Array.from({ length: 1_001 }, (_, id) => ({ id: String(id), values: [1, 2, 3] }))),
			"VECTOR_UPSERT",
			"(code = 40011): too many vectors in payload; max vector count is 1000, got 1001",
		],
		[
			() => VECTORIZE.query([1, 2, 3], { topK: 100, returnMetadata: "all" }),
			"VECTOR_QUERY",
			"(code = 40025): with returnValues=true or returnMetadata=all, max top K is 50, but got 100; for a top K up to 100, retry with returnValues=false and returnMetadata=indexed",
		],
		// The class sends false as it is, and the service refuses it.
		[
			() => VECTORIZE.query([1, 2, 3], { returnMetadata: false }),
			"VECTOR_QUERY",
			'(code = 40026): Failed to parse the request body as JSON: returnMetadata: expected value "none", "indexed" or "all"',
		],
		[
			() => VECTORIZE.query([1, 2, 3], { filter: { author: "x" } }),
			"VECTOR_QUERY",
			'(code = 40022): filter: the property "author" has no metadata index; create one, and write the vectors again',
		],
	])("throws the errors of the class: %#", async (call, operation, text) => {
		const { cause, message } = await failure(call());
		expect(message).toBe(`${operation}_ERROR ${text}`);
		expect(cause).toBe(text.replace(/^\(code = \d+\): /, ""));
	});

	it("without dimensions has those of the first vector", async () => {
		const { message } = await failure(LATE_VECTORIZE.describe());
		expect(message).toBe(
			'INDEX_GET_ERROR (code = 3000): vectorize.index.not_found - Index name "late": set dimensions in the options of the binding, or insert a vector first',
		);
		await LATE_VECTORIZE.insert([{ id: "a", values: [1, 2, 3, 4] }]);
		expect(await LATE_VECTORIZE.describe()).toMatchObject({ dimensions: 4, vectorCount: 1 });
	});
});

describe("the calls of workerd's vectorize-api-test", () => {
	const shells = {
		id: "shells",
		values: [1, 0, 0],
		metadata: { text: "She sells seashells by the seashore" },
	};
	const piper = {
		id: "piper",
		values: [0, 2, 0],
		metadata: { text: "Peter Piper picked a peck of peppers" },
	};
	const york = { id: "york", values: [0, 0, 4], metadata: { text: "You know New York, you need New York" } };
	const zero = new Float32Array(3);
	const ids = ["shells", "piper", "york"];

	beforeAll(async () => {
		await VECTORIZE.upsert([shells, piper, york]);
	});
	afterAll(async () => {
		await VECTORIZE.deleteByIds([...ids, "twice"]);
	});

	it.each<[string, VectorizeQueryOptions, object[]]>([
		[
			"values and indexed metadata",
			{ topK: 3, returnValues: true, returnMetadata: "indexed" },
			[shells, piper, york],
		],
		[
			"all metadata",
			{ topK: 3, returnMetadata: true },
			[shells, piper, york].map(({ values: _, ...match }) => match),
		],
		["ids and scores only", { topK: 3 }, ids.map((id) => ({ id }))],
		["a filter by $eq", { topK: 1, filter: { text: { $eq: piper.metadata.text } } }, [{ id: "piper" }]],
		[
			"a filter by $in",
			{ topK: 2, filter: { text: { $in: [piper.metadata.text, shells.metadata.text] } } },
			[{ id: "shells" }, { id: "piper" }],
		],
		["topK with a filter", { topK: 1, filter: { text: { $in: [piper.metadata.text] } } }, [{ id: "piper" }]],
		[
			"a range of strings",
			{ topK: 1, filter: { text: { $gt: piper.metadata.text, $lt: york.metadata.text } } },
			[{ id: "shells" }],
		],
	])("query with %s", async (_, options, matches) => {
		const scores: Readonly<Record<string, number>> = { shells: 1, piper: 2, york: 4 };
		const expected = matches.map((match) => ({ ...match, score: scores[(match as { id: string }).id] }));
		expect(await VECTORIZE.query(zero, options)).toEqual({ count: expected.length, matches: expected });
	});

	it("queryById", async () => {
		const options = { topK: 2, returnValues: true, returnMetadata: "indexed" } as const;
		const { count, matches } = await VECTORIZE.queryById("shells", options);
		expect(count).toBe(2);
		expect(matches).toEqual([
			{ ...shells, score: 0 },
			{ ...piper, score: expect.closeTo(Math.sqrt(5), 6) },
		]);
		expect(await VECTORIZE.queryById("some-vector-id", options)).toEqual({ count: 0, matches: [] });
	});

	it("insert and upsert with one id twice", async () => {
		const first = { id: "twice", values: [1, 2, 3], metadata: { text: "He threw three free throws" } };
		const second = {
			id: "twice",
			values: new Float32Array([4, 5, 6]),
			metadata: { text: "Which witch is which?" },
		};
		expect(await VECTORIZE.insert([first, second])).toEqual({ mutationId: expect.stringMatching(UUID) });
		expect(await VECTORIZE.getByIds(["twice"])).toEqual([first]);
		await VECTORIZE.upsert([first, second]);
		expect(await VECTORIZE.getByIds(["twice"])).toEqual([{ ...second, values: [4, 5, 6] }]);
	});

	it("insert without values is refused", async () => {
		const { message } = await failure(VECTORIZE.insert([{ id: "empty", values: new Float32Array() }]));
		expect(message).toBe(
			'VECTOR_INSERT_ERROR (code = 40012): invalid vector for id="empty", expected 3 dimensions, and got 0 dimensions',
		);
	});

	it("getByIds and deleteByIds", async () => {
		expect(await VECTORIZE.getByIds(["york", "absent", "shells"])).toEqual(
			expect.arrayContaining([york, shells]),
		);
		expect(await VECTORIZE.deleteByIds(["vector-a", "vector-b", "vector-c"])).toEqual({
			mutationId: expect.stringMatching(UUID),
		});
		expect(await VECTORIZE.getByIds(ids)).toHaveLength(3);
	});
});
