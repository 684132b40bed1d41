import { describe, expect, it } from "vitest";
import logits from "../../fixtures/openai/llama-cpp/rerank.json?raw";
import probabilities from "../../fixtures/openai/vllm/rerank.json?raw";
import { outputOf } from "../ask.ts";
import { failureOf, json } from "../upstream.ts";
import { ask } from "./ask.ts";

const INPUT = { query: "q", contexts: ["a", "b"] };
const results = (...scores: [number, number][]) => ({
	results: scores.map(([index, relevance_score]) => ({ index, relevance_score })),
});

describe("a ranking", () => {
	it("is requested in the format of Jina and Cohere", async () => {
		const asking = ask("reranking", { ...INPUT, top_k: 1 }, () => json(probabilities));
		await asking.answer;
		expect(asking.call.requests[0]?.url).toBe("http://engine.test/v1/rerank");
		expect(asking.call.requests[0]?.json).toEqual({
			model: "engine-model",
			query: "q",
			documents: ["a", "b"],
			top_n: 1,
		});
	});

	it("keeps probabilities", async () => {
		expect(await outputOf(ask("reranking", INPUT, () => json(probabilities)))).toEqual({
			ranks: [
				{ id: 1, score: 0.99853515625 },
				{ id: 0, score: 0.0005860328674316406 },
			],
		});
	});

	it("keeps the probabilities 0 and 1", async () => {
		const reply = json(results([0, 0], [1, 1]));
		expect(await outputOf(ask("reranking", INPUT, () => reply))).toEqual({
			ranks: [
				{ id: 1, score: 1 },
				{ id: 0, score: 0 },
			],
		});
	});

	it("converts logits to probabilities", async () => {
		const { ranks } = await outputOf(ask("reranking", INPUT, () => json(logits)));
		expect(ranks.map(({ id }) => id)).toEqual([1, 0]);
		expect(ranks[0]?.score).toBeCloseTo(1 / (1 + Math.exp(-1.01324462890625)), 12);
		expect(ranks[1]?.score).toBeCloseTo(1 / (1 + Math.exp(0.04520479589700699)), 12);
	});

	it("converts all scores or none, so that 0.99 stays below 2", async () => {
		const { ranks } = await outputOf(ask("reranking", INPUT, () => json(results([0, 0.99], [1, 2]))));
		expect(ranks.map(({ id }) => id)).toEqual([1, 0]);
	});

	it("is sorted and has at most top_k results", async () => {
		const reply = json(results([0, 0.1], [1, 0.7]));
		expect(await outputOf(ask("reranking", { ...INPUT, top_k: 1 }, () => reply))).toEqual({
			ranks: [{ id: 1, score: 0.7 }],
		});
	});

	it.each([
		["has a place that is none", results([0, 0.1], [2, 0.7])],
		["has a place twice", results([0, 0.1], [0, 0.7])],
		["misses a context", results([0, 0.1])],
		["has no scores", { results: [{ index: 0 }, { index: 1 }] }],
	])("rejects a reply that %s", async (_, reply) => {
		expect(await failureOf(ask("reranking", INPUT, () => json(reply)).answer)).toMatchObject({
			key: "executionFailed",
		});
	});
});
