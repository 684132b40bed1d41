import { describe, expect, it } from "vitest";
import { openaiEmbeddings } from "../../../src/dialects/text/openai-embeddings.ts";
import { productModel, read, refusal, write } from "../read-write.ts";

const { reader, writer } = openaiEmbeddings;
const bge = productModel("@cf/baai/bge-base-en-v1.5");
const m3 = productModel("@cf/baai/bge-m3");
const gemma = productModel("@cf/google/embeddinggemma-300m");
const qwen3 = productModel("@cf/qwen/qwen3-embedding-0.6b");

describe("openaiEmbeddings", () => {
	it("reads one text or several, with the defaults of the model's native route", () => {
		expect(read(reader, bge, { model: bge.id, input: "a" }).call).toEqual({
			task: "text-embeddings",
			input: { texts: ["a"], pooling: "mean", truncate: true },
		});
		expect(read(reader, m3, { model: m3.id, input: ["a", "b"] }).call.input).toEqual({
			texts: ["a", "b"],
			pooling: "cls",
			truncate: false,
		});
		const sent = { model: gemma.id, input: ["a"], dimensions: 256, user: "u", encoding_format: "float" };
		expect(read(reader, gemma, sent).call.input).toEqual({ texts: ["a"], dimensions: 256 });
		expect(read(reader, qwen3, { model: qwen3.id, input: "a" }).call.input).toEqual({ texts: ["a"] });
	});

	it("refuses tokens, and more texts than the model's maximum", () => {
		for (const input of [[1, 2], [[1, 2]]])
			expect(refusal(reader, bge, { model: "m", input })).toBe(
				"Error: '/input' must be text, not tokens (LangChain: check_embedding_ctx_length: false)",
			);
		const input = Array.from({ length: 101 }, () => "a");
		expect(refusal(reader, bge, { model: "m", input })).toBe("Error: maxItems at '/input' is 100, got 101");
		expect(refusal(reader, qwen3, { model: "m", input })).toBe("Error: maxItems at '/input' is 32, got 101");
		expect(refusal(reader, bge, { model: "m", input: [] })).toBe("Error: minItems at '/input' is 1, got 0");
		expect(refusal(reader, bge, { model: "m" })).toBe("Error: required properties at '/' are 'model,input'");
		expect(refusal(reader, bge, { model: "m", input: {} })).toBe(
			"Error: Type mismatch of '/input', 'string' not in 'object'",
		);
		expect(refusal(reader, bge, { model: "m", input: "a", encoding_format: "int8", dimensions: 0 })).toBe(
			"Error: enum value not in float,base64 at '/encoding_format', '/dimensions' must be >= 1",
		);
	});

	it("writes a list of vectors and the engine's count of tokens", () => {
		const parsed = read(reader, bge, { model: bge.id, input: ["a", "b"] });
		const usage = { prompt_tokens: 6, total_tokens: 6 };
		expect(
			write(writer, parsed, "text-embeddings", {
				vectors: [
					[1, 2],
					[3, 4],
				],
				usage,
			}),
		).toEqual({
			kind: "json",
			value: {
				object: "list",
				data: [
					{ object: "embedding", index: 0, embedding: [1, 2] },
					{ object: "embedding", index: 1, embedding: [3, 4] },
				],
				model: "@cf/baai/bge-base-en-v1.5",
				usage,
			},
		});
	});

	it("copies the engine's JSON numbers, and its base64 if requested", () => {
		const request = { model: bge.id, input: "a" };
		const usage = { prompt_tokens: 1, total_tokens: 1 };
		const numbers = { vectors: [[1]], written: { as: "json" as const, rows: ["[1.0]"], length: 1 }, usage };
		const tail = `"model":"${bge.id}","usage":${JSON.stringify(usage)}}`;
		const plain = read(reader, bge, request);
		expect(write(writer, plain, "text-embeddings", numbers)).toMatchObject({
			text: `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1.0]}],${tail}`,
			value: { data: [{ embedding: [1] }] },
		});
		const packed = read(reader, bge, { ...request, encoding_format: "base64" });
		expect(packed.call.input).toMatchObject({ encoding: "base64" });
		const base64 = { ...numbers, written: { as: "base64" as const, rows: ["AACAPw=="], length: 1 } };
		for (const output of [numbers, base64])
			expect(write(writer, packed, "text-embeddings", output)).toEqual({
				kind: "json",
				value: {
					object: "list",
					data: [{ object: "embedding", index: 0, embedding: "AACAPw==" }],
					model: bge.id,
					usage,
				},
			});
	});

	it("writes little-endian floats in base64, and estimates missing token counts", () => {
		const parsed = read(reader, bge, { model: bge.id, input: "12345678", encoding_format: "base64" });
		expect(write(writer, parsed, "text-embeddings", { vectors: [[1, -2.5, 0]] })).toMatchObject({
			value: {
				data: [{ object: "embedding", index: 0, embedding: "AACAPwAAIMAAAAAA" }],
				usage: { prompt_tokens: 3, total_tokens: 3 },
			},
		});
	});
});
