import { describe, expect, it } from "vitest";
import { tei } from "../../../src/backends/tei/index.ts";
import embed from "../../fixtures/tei/embed.json?raw";
import backendError from "../../fixtures/tei/error-backend.json?raw";
import batchError from "../../fixtures/tei/error-batch.json?raw";
import emptyError from "../../fixtures/tei/error-empty.json?raw";
import overloadedError from "../../fixtures/tei/error-overloaded.json?raw";
import unhealthyError from "../../fixtures/tei/error-unhealthy.json?raw";
import validationError from "../../fixtures/tei/error-validation.json?raw";
import predict from "../../fixtures/tei/predict.json?raw";
import rerank from "../../fixtures/tei/rerank.json?raw";
import { askOf, outputOf } from "../ask.ts";
import { failureOf, json, KEY, type Responder } from "../upstream.ts";

const ask = askOf(tei, { kind: "tei", url: "http://tei.test" });

const numbers = (count: number) => Array.from({ length: count }, (_, place) => String(place));
/** One vector for each text: the number that it is. */
const embedNumbers: Responder = ({ json: { inputs } }) =>
	json((inputs as string[]).map((text) => [Number(text)]));

describe("embeddings", () => {
	it("are requested normalized, with truncation and dimensions", async () => {
		const asking = ask("text-embeddings", { texts: ["a", "b"], truncate: true, dimensions: 3 }, () =>
			json(embed),
		);
		expect(await outputOf(asking)).toEqual({
			vectors: [
				[0.6, 0.8, 0],
				[0, -0.28, 0.96],
			],
		});
		const [request] = asking.call.requests;
		expect(request?.url).toBe("http://tei.test/embed");
		expect(request?.headers.get("authorization")).toBe(`Bearer ${KEY}`);
		expect(request?.json).toEqual({ inputs: ["a", "b"], normalize: true, truncate: true, dimensions: 3 });
	});

	it("omit absent options", async () => {
		const asking = ask("text-embeddings", { texts: ["a", "b"] }, () => json(embed));
		await asking.answer;
		expect(asking.call.requests[0]?.json).toEqual({ inputs: ["a", "b"], normalize: true });
	});

	it("are requested in batches of 32, in order", async () => {
		const asking = ask("text-embeddings", { texts: numbers(70) }, embedNumbers);
		expect(await outputOf(asking)).toEqual({ vectors: numbers(70).map((text) => [Number(text)]) });
		expect(asking.call.requests.map(({ json: { inputs } }) => (inputs as string[]).length)).toEqual([
			32, 32, 6,
		]);
	});

	it.each([422, 413])(
		"go on with the number that a server allows, told with %i, and lose nothing",
		async (status) => {
			const asking = ask("text-embeddings", { texts: numbers(33) }, (asked) =>
				(asked.json.inputs as string[]).length > 8 ? json(batchError, status) : embedNumbers(asked),
			);
			expect(await outputOf(asking)).toEqual({ vectors: numbers(33).map((text) => [Number(text)]) });
			expect(asking.call.requests.map(({ json: { inputs } }) => (inputs as string[]).length)).toEqual([
				32, 8, 8, 8, 8, 1,
			]);
		},
	);

	it("are not requested again if the batch was within the limit", async () => {
		const asking = ask("text-embeddings", { texts: numbers(8) }, () => json(batchError, 422));
		expect(await failureOf(asking.answer)).toMatchObject({ key: "engineRefused", retryable: false });
		expect(asking.call.requests).toHaveLength(1);
	});

	it.each([
		["one text", 422, 1, [2, 1, 1]],
		["no text", 422, 0, [2]],
		["one text, with a failure that is no refusal", 500, 1, [2]],
	])("of a server that allows %s, told with %i", async (_, status, allowed, sizes) => {
		const error = { error: `batch size 2 > maximum allowed batch size ${allowed}`, error_type: "Validation" };
		const asking = ask("text-embeddings", { texts: numbers(2) }, (request) =>
			(request.json.inputs as string[]).length > 1 ? json(error, status) : embedNumbers(request),
		);
		await Promise.allSettled([asking.answer]);
		expect(asking.call.requests.map(({ json: { inputs } }) => (inputs as string[]).length)).toEqual(sizes);
	});

	it("stop after a failed batch", async () => {
		const asking = ask("text-embeddings", { texts: numbers(70) }, (asked) =>
			(asked.json.inputs as string[])[0] === "32" ? json(overloadedError, 429) : embedNumbers(asked),
		);
		expect(await failureOf(asking.answer)).toMatchObject({ key: "outOfCapacity", retryable: true });
		expect(asking.call.requests).toHaveLength(2);
	});

	it.each([
		["too few", [[1]]],
		["too many", [[1], [2], [3]]],
		["empty", [[1], []]],
		["an OpenAI reply", { data: [] }],
	])("rejects a reply with %s", async (_, reply) => {
		const { answer } = ask("text-embeddings", { texts: ["a", "b"] }, () => json(reply));
		expect(await failureOf(answer)).toMatchObject({ key: "executionFailed" });
	});
});

describe("a ranking", () => {
	it("has probabilities, best first", async () => {
		const asking = ask("reranking", { query: "cats", contexts: ["dogs", "cats"] }, () => json(rerank));
		expect(await outputOf(asking)).toEqual({
			ranks: [
				{ id: 1, score: 0.9987814 },
				{ id: 0, score: 0.0005899119 },
			],
		});
		expect(asking.call.requests[0]?.url).toBe("http://tei.test/rerank");
		expect(asking.call.requests[0]?.json).toEqual({
			query: "cats",
			texts: ["dogs", "cats"],
			raw_scores: false,
			truncate: true,
		});
	});

	it("has at most top_k results", async () => {
		const asking = ask("reranking", { query: "q", contexts: ["a", "b"], top_k: 1 }, () => json(rerank));
		expect(await outputOf(asking)).toEqual({ ranks: [{ id: 1, score: 0.9987814 }] });
	});

	it("combines several batches", async () => {
		// The later a context, the better it fits.
		const asking = ask("reranking", { query: "q", contexts: numbers(40), top_k: 3 }, ({ json: { texts } }) =>
			json((texts as string[]).map((text, index) => ({ index, score: Number(text) / 100 })).reverse()),
		);
		expect(await outputOf(asking)).toEqual({
			ranks: [
				{ id: 39, score: 0.39 },
				{ id: 38, score: 0.38 },
				{ id: 37, score: 0.37 },
			],
		});
		expect(asking.call.requests).toHaveLength(2);
	});

	it.each([
		[
			"has a place that is none",
			[
				{ index: 0, score: 0.1 },
				{ index: 2, score: 0.2 },
			],
		],
		[
			"has a place twice",
			[
				{ index: 0, score: 0.1 },
				{ index: 0, score: 0.2 },
			],
		],
		["misses a context", [{ index: 0, score: 0.1 }]],
	])("rejects a reply that %s", async (_, reply) => {
		const { answer } = ask("reranking", { query: "q", contexts: ["a", "b"] }, () => json(reply));
		expect(await failureOf(answer)).toMatchObject({ key: "executionFailed" });
	});
});

describe("a classification", () => {
	it("has all labels with probabilities", async () => {
		const asking = ask("text-classification", { text: "I love it." }, () => json(predict));
		expect(await outputOf(asking)).toEqual({
			labels: [
				{ label: "POSITIVE", score: 0.99988544 },
				{ label: "NEGATIVE", score: 0.00011457326 },
			],
		});
		expect(asking.call.requests[0]?.url).toBe("http://tei.test/predict");
		expect(asking.call.requests[0]?.json).toEqual({
			inputs: "I love it.",
			raw_scores: false,
			truncate: true,
		});
	});
});

describe("an error reply", () => {
	it.each([
		["a text that is too long", 422, validationError, { key: "contextWindowExceeded", retryable: false }],
		[
			"a body that is too large",
			413,
			{ error: "payload too large" },
			{ key: "requestTooLarge", retryable: false },
		],
		["an empty text", 400, emptyError, { key: "engineRefused", retryable: false }],
		["a task that the model lacks", 424, backendError, { key: "executionFailed", retryable: true }],
		["too many callers", 429, overloadedError, { key: "outOfCapacity", retryable: true }],
		["a server that is not well", 503, unhealthyError, { key: "outOfCapacity", retryable: true }],
	])("maps %s (%i) to a failure", async (_, status, body, expected) => {
		const { answer } = ask("text-embeddings", { texts: ["a"] }, () => json(body, status));
		expect(await failureOf(answer)).toMatchObject(expected);
	});

	it("has the message about an invalid input", async () => {
		const { answer } = ask("text-embeddings", { texts: ["a"] }, () => json(validationError, 422));
		expect(await failureOf(answer)).toMatchObject({
			description: "`inputs` must have less than 512 tokens. Given: 600",
		});
	});
});
