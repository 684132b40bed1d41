import { describe, expect, it } from "vitest";
import { rerankReader, rerankWriter } from "../../../src/dialects/text/reranking.ts";
import { productModel, read, refusal, write } from "../read-write.ts";

const model = productModel("@cf/baai/bge-reranker-base");
const contexts = [{ text: "a" }, { text: "b" }, { text: "c" }];
const ranks = [
	{ id: 2, score: 0.9 },
	{ id: 0, score: 0.5 },
	{ id: 1, score: 0.1 },
];

describe("rerank", () => {
	it("reads a query and its contexts", () => {
		expect(read(rerankReader, model, { query: "q", contexts, top_k: 2 }).call).toEqual({
			task: "reranking",
			input: { query: "q", contexts: ["a", "b", "c"], top_k: 2 },
		});
	});

	it("refuses invalid inputs", () => {
		const cases: [unknown, string][] = [
			[{ contexts }, "required properties at '/' are 'query,contexts'"],
			[{ query: "", contexts }, "Length of '/query' must be >= 1 not met"],
			[{ query: "q", contexts: ["a"] }, "Type mismatch of '/contexts/0', 'object' not in 'string'"],
			[{ query: "q", contexts: [{ text: "a" }, {}] }, "required properties at '/contexts/1' are 'text'"],
			[{ query: "q", contexts: [{ text: "" }] }, "Length of '/contexts/0/text' must be >= 1 not met"],
			[{ query: "q", contexts: [] }, "minItems at '/contexts' is 1, got 0"],
			[{ query: "q", contexts, top_k: 0 }, "'/top_k' must be >= 1"],
			[{ query: "q", contexts, top_k: 1.5 }, "Type mismatch of '/top_k', 'integer' not in 'number'"],
		];
		for (const [sent, expected] of cases)
			expect(refusal(rerankReader, model, sent)).toBe(`Error: ${expected}`);
	});

	it("writes the ranks, limited to top_k", () => {
		const all = read(rerankReader, model, { query: "q", contexts });
		expect(write(rerankWriter, all, "reranking", { ranks })).toEqual({
			kind: "json",
			value: { response: ranks },
		});
		const two = read(rerankReader, model, { query: "q", contexts, top_k: 2 });
		expect(write(rerankWriter, two, "reranking", { ranks })).toEqual({
			kind: "json",
			value: { response: ranks.slice(0, 2) },
		});
	});
});
