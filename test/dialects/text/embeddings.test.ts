import { describe, expect, it } from "vitest";
import * as z from "zod";
import { embeddingsReaders, embeddingsWriters } from "../../../src/dialects/text/embeddings.ts";
import { PRODUCT_MODELS } from "../../../src/models/catalog.ts";
import { productModel, read, refusal, write } from "../read-write.ts";

const bge = productModel("@cf/baai/bge-base-en-v1.5");
const m3 = productModel("@cf/baai/bge-m3");
const gemma = productModel("@cf/google/embeddinggemma-300m");
const qwen3 = productModel("@cf/qwen/qwen3-embedding-0.6b");
const readers = embeddingsReaders;
const writers = embeddingsWriters;
const usage = { prompt_tokens: 4, total_tokens: 4 };

describe("embeddings-bge", () => {
	const reader = readers["embeddings-bge"];

	it("reads one text or several, with mean pooling as the default", () => {
		expect(read(reader, bge, { text: "a", other: 1 }).call).toEqual({
			task: "text-embeddings",
			input: { texts: ["a"], pooling: "mean", truncate: true },
		});
		expect(read(reader, bge, { text: ["a", ""], pooling: "cls" }).call.input).toEqual({
			texts: ["a", ""],
			pooling: "cls",
			truncate: true,
		});
		expect(read(reader, { ...bge, defaults: { pooling: "cls" } }, { text: "a" }).call.input).toMatchObject({
			pooling: "cls",
		});
	});

	it("accepts up to 100 texts", () => {
		const texts = Array.from({ length: 101 }, () => "a");
		expect(read(reader, bge, { text: texts.slice(1) }).call.input).toMatchObject({ texts: texts.slice(1) });
		expect(refusal(reader, bge, { text: texts })).toBe("Error: maxItems at '/text' is 100, got 101");
		expect(refusal(reader, bge, { text: [] })).toBe("Error: minItems at '/text' is 1, got 0");
	});

	it("refuses values that are not text", () => {
		expect(refusal(reader, bge, {})).toBe("Error: required properties at '/' are 'text'");
		expect(refusal(reader, bge, { text: 1 })).toBe(
			"Error: Type mismatch of '/text', 'string' not in 'number','integer'",
		);
		expect(refusal(reader, bge, { text: ["a", null] })).toBe(
			"Error: Type mismatch of '/text/1', 'string' not in 'null'",
		);
		expect(refusal(reader, bge, { text: "a", pooling: "max" })).toBe(
			"Error: enum value not in mean,cls at '/pooling'",
		);
	});

	it("copies the engine's JSON of the vectors, and parses it only for the value", () => {
		const parsed = read(readers["embeddings-bge"], bge, { text: ["a", "b"] });
		const vectors = [
			[0.5, 0.1],
			[0, 1],
		];
		const written = { as: "json", rows: ["[0.50,1e-1]", "[0,1]"], length: 2 } as const;
		const output = { vectors, written: { ...written, rows: [...written.rows] }, usage };
		const rendered = write(writers.embeddings, parsed, "text-embeddings", output);
		if (rendered.kind !== "json") throw new Error("not JSON");
		expect(rendered.text).toBe(
			`{"shape":[2,2],"data":[[0.50,1e-1],[0,1]],"pooling":"mean","usage":${JSON.stringify(usage)}}`,
		);
		expect(rendered.value).toEqual({ shape: [2, 2], data: vectors, pooling: "mean", usage });
	});

	it("writes the shape, the vectors, the pooling, and the usage if it is known", () => {
		const parsed = read(reader, bge, { text: ["a", "b"], pooling: "cls" });
		const vectors = [
			[1, 0, 0.5],
			[0, 1, 0.25],
		];
		expect(write(writers.embeddings, parsed, "text-embeddings", { vectors, usage })).toEqual({
			kind: "json",
			value: { shape: [2, 3], data: vectors, pooling: "cls", usage },
		});
		expect(write(writers.embeddings, parsed, "text-embeddings", { vectors })).toEqual({
			kind: "json",
			value: { shape: [2, 3], data: vectors, pooling: "cls" },
		});
	});
});

describe("embeddings-m3", () => {
	const reader = readers["embeddings-m3"];
	const writer = writers["embeddings-m3"];

	it("reads texts", () => {
		expect(read(reader, m3, { text: "a" }).call).toEqual({
			task: "text-embeddings",
			input: { texts: ["a"], pooling: "cls", truncate: false },
		});
		expect(read(reader, m3, { text: ["a", "b"], truncate_inputs: true }).call.input).toMatchObject({
			texts: ["a", "b"],
			truncate: true,
		});
	});

	it("reads contexts, with or without a query", () => {
		const contexts = [{ text: "a", external_reference: "x" }, { text: "b" }];
		expect(read(reader, m3, { contexts }).call.input).toMatchObject({ texts: ["a", "b"] });
		expect(read(reader, m3, { contexts, query: "q" }).call.input).toMatchObject({ texts: ["q", "a", "b"] });
	});

	it("requires exactly one of its forms", () => {
		expect(refusal(reader, m3, { query: "q" })).toBe(
			"Error: oneOf at '/' not met, 0 matches: required properties at '/' are 'contexts', required properties at '/' are 'text'",
		);
		expect(refusal(reader, m3, { text: "a", contexts: [{ text: "a" }] })).toBe(
			"Error: oneOf at '/' not met, 2 matches",
		);
		expect(refusal(reader, m3, { contexts: [{ text: "" }] })).toBe(
			"Error: oneOf at '/' not met, 0 matches: Length of '/contexts/0/text' must be >= 1 not met, required properties at '/' are 'text'",
		);
	});

	it("writes vectors for texts, and for contexts in another field", () => {
		const vectors = [
			[1, 0],
			[0, 1],
		];
		const texts = read(reader, m3, { text: ["a", "b"] });
		expect(write(writer, texts, "text-embeddings", { vectors })).toEqual({
			kind: "json",
			value: { shape: [2, 2], data: vectors, pooling: "cls" },
		});
		const contexts = read(reader, m3, { contexts: [{ text: "a" }, { text: "b" }] });
		expect(write(writer, contexts, "text-embeddings", { vectors, usage })).toEqual({
			kind: "json",
			value: { response: vectors, shape: [2, 2], pooling: "cls", usage },
		});
	});

	it("ranks contexts by similarity to the query, best first", () => {
		const parsed = read(reader, m3, {
			query: "q",
			contexts: [{ text: "across" }, { text: "away" }, { text: "along" }, { text: "nowhere" }],
		});
		const vectors = [
			[3, 4],
			[4, -3],
			[-6, -8],
			[0.3, 0.4],
			[0, 0],
		];
		const rendered = write(writer, parsed, "text-embeddings", { vectors });
		expect(rendered).toEqual({
			kind: "json",
			value: {
				response: [
					{ id: 2, score: expect.closeTo(1, 12) },
					{ id: 0, score: 0 },
					{ id: 3, score: 0 },
					{ id: 1, score: -1 },
				],
			},
		});
	});
});

describe("embeddings-text", () => {
	it("reads texts and writes their vectors without pooling", () => {
		const parsed = read(readers["embeddings-text"], gemma, { text: ["a"], pooling: "cls" });
		expect(parsed.call).toEqual({ task: "text-embeddings", input: { texts: ["a"] } });
		expect(write(writers["embeddings-plain"], parsed, "text-embeddings", { vectors: [[0.5]] })).toEqual({
			kind: "json",
			value: { shape: [1, 1], data: [[0.5]] },
		});
	});
});

describe("embeddings-qwen3", () => {
	const reader = readers["embeddings-qwen3"];

	it("adds the instruction only to queries, and keeps the order queries, documents, text", () => {
		expect(read(reader, qwen3, { text: "t", documents: ["d", "e"], queries: "q" }).call).toEqual({
			task: "text-embeddings",
			input: {
				texts: [
					"Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:q",
					"d",
					"e",
					"t",
				],
			},
		});
		expect(read(reader, qwen3, { queries: ["a", "b"], instruction: "Find it" }).call.input).toEqual({
			texts: ["Instruct: Find it\nQuery:a", "Instruct: Find it\nQuery:b"],
		});
	});

	it("accepts up to 32 texts per field, and requires one", () => {
		const texts = Array.from({ length: 33 }, () => "a");
		expect(refusal(reader, qwen3, { documents: texts })).toBe(
			"Error: maxItems at '/documents' is 32, got 33",
		);
		expect(refusal(reader, qwen3, { instruction: "Find it" })).toBe(
			"Error: anyOf at '/' not met: required properties at '/' are 'queries', required properties at '/' are 'documents', required properties at '/' are 'text'",
		);
	});
});

describe("the schemas", () => {
	it("exist for every embeddings model, with its defaults", () => {
		const models = PRODUCT_MODELS.filter(({ task }) => task === "Text Embeddings");
		expect(models.length).toBeGreaterThanOrEqual(8);
		for (const model of models) {
			if (!(model.input in readers)) throw new Error(`${model.id} has no reader`);
			const reader = readers[model.input as keyof typeof readers];
			const schema = JSON.stringify(z.toJSONSchema(reader.schema(model), { io: "input" }));
			for (const value of Object.values(model.defaults))
				expect(schema).toContain(`"default":${JSON.stringify(value)}`);
		}
	});
});
