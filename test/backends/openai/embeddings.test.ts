import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Target } from "../../../src/backends/backend.ts";
import recorded from "../../fixtures/openai/llama-cpp/embeddings.json?raw";
import { type Asking, outputOf } from "../ask.ts";
import { failureOf, json, neverAnswers, type Responder, type SentRequest, TARGET } from "../upstream.ts";
import { ask, OPENAI } from "./ask.ts";

const INPUT = { texts: ["a", "b c"] };
const at = (index: number | undefined, embedding: unknown) => ({ object: "embedding", index, embedding });

describe("embeddings", () => {
	it("are requested in one batch, as numbers", async () => {
		const asking = ask("text-embeddings", { ...INPUT, dimensions: 64 }, () => json(recorded));
		await asking.answer;
		expect(asking.call.requests[0]?.url).toBe("http://engine.test/v1/embeddings");
		expect(asking.call.requests[0]?.json).toEqual({
			model: "engine-model",
			input: ["a", "b c"],
			encoding_format: "float",
			dimensions: 64,
		});
	});

	it.each([
		["another width than requested", { dimensions: 2 }, {}, 2],
		["another width than the model's", {}, { model: { dimensions: 1024 } }, 1024],
	])("of %s fail, so that another target is tried", async (_, input, options, width) => {
		const asking = ask(
			"text-embeddings",
			{ texts: ["a"], ...input },
			() => json({ data: [at(0, [1, 2, 3])], usage: { prompt_tokens: 1, total_tokens: 1 } }),
			options,
		);
		expect(await failureOf(asking.answer)).toMatchObject({
			key: "executionFailed",
			description: `The backend 'lab' answered with vectors of 3 numbers, not of ${width}`,
			retryable: true,
		});
	});

	it("are truncated if requested and supported", async () => {
		const engine = ask("text-embeddings", { ...INPUT, truncate: true }, () => json(recorded));
		await engine.answer;
		expect(engine.call.requests[0]?.json.truncate_prompt_tokens).toBe(-1);
		const service = ask("text-embeddings", { ...INPUT, truncate: true }, () => json(recorded), OPENAI);
		await service.answer;
		expect(service.call.requests[0]?.json).not.toHaveProperty("truncate_prompt_tokens");
	});

	it("are read with usage from llama.cpp", async () => {
		const { data } = JSON.parse(recorded);
		expect(await outputOf(ask("text-embeddings", INPUT, () => json(recorded)))).toMatchObject({
			vectors: [data[0].embedding, data[1].embedding],
			usage: { prompt_tokens: 4, total_tokens: 4 },
		});
	});

	it("are sorted by index", async () => {
		const data = [at(1, [2]), at(0, [1])];
		expect(await outputOf(ask("text-embeddings", INPUT, () => json({ data })))).toEqual({
			vectors: [[1], [2]],
			written: { as: "json", rows: ["[1]", "[2]"], length: 1 },
		});
	});

	it("keep their order without indices", async () => {
		const data = [at(undefined, [1]), at(undefined, [2])];
		expect(await outputOf(ask("text-embeddings", INPUT, () => json({ data })))).toEqual({
			vectors: [[1], [2]],
			written: { as: "json", rows: ["[1]", "[2]"], length: 1 },
		});
	});

	it("keep the engine's text of the numbers", async () => {
		const of = JSON.stringify('"embedding":[1]');
		const reply = `{"data": [{"embedding" : [\n 0.10,\n -1E-3 ], "of": ${of}}, {"embedding": [2.0, 3]}]}`;
		expect(await outputOf(ask("text-embeddings", INPUT, () => json(reply)))).toEqual({
			vectors: [
				[0.1, -0.001],
				[2, 3],
			],
			written: { as: "json", rows: ["[\n 0.10,\n -1E-3 ]", "[2.0, 3]"], length: 2 },
		});
	});

	it("are requested in base64 if the caller requests it, and returned unchanged", async () => {
		const data = [at(1, "AAAAQAAAAD8="), at(0, "AACAPwAAIMA=")];
		const asking = ask("text-embeddings", { ...INPUT, encoding: "base64" }, () => json({ data }));
		expect(await outputOf(asking)).toEqual({
			vectors: [
				[1, -2.5],
				[2, 0.5],
			],
			written: { as: "base64", rows: ["AACAPwAAIMA=", "AAAAQAAAAD8="], length: 2 },
		});
		expect(asking.call.requests[0]?.json.encoding_format).toBe("base64");
	});

	it("are numbers if the engine ignores the encoding", async () => {
		const data = [at(0, [1]), at(1, [2])];
		const asking = ask("text-embeddings", { ...INPUT, encoding: "base64" }, () => json({ data }));
		expect(await outputOf(asking)).toMatchObject({ vectors: [[1], [2]], written: { as: "json" } });
	});

	describe("in base64, from a server that refuses it", () => {
		const data = [at(0, [1]), at(1, [2])];
		const noBase64 =
			(body: unknown, status = 400) =>
			({ json: sent }: SentRequest) =>
				sent.encoding_format === "float" ? json({ data }) : json(body, status);
		const NO_FORMAT = { error: { message: "encoding_format must be float", type: "invalid_request_error" } };
		const requestFor = (
			respond: Responder,
			timeouts = TARGET.timeouts,
			observed: Target["observed"] = undefined,
		) =>
			ask("text-embeddings", { ...INPUT, encoding: "base64" }, respond, {
				target: { timeouts, ...(observed && { observed }) },
			});
		const formatsOf = ({ call }: Asking<"text-embeddings">) =>
			call.requests.map(({ json: sent }) => sent.encoding_format);

		it.each([
			["its sentence", NO_FORMAT, 400],
			["its sentence, in other words", { error: { message: "Base64 is not supported" } }, 400],
			["the field's place", { error: { message: "Not a value", param: "encoding_format" } }, 400],
			[
				"FastAPI's finding",
				{ detail: [{ loc: ["body", "encoding_format"], msg: "Input should be 'float'", input: "base64" }] },
				422,
			],
		])("are requested as numbers if %s names the format", async (_, body, status) => {
			const asking = requestFor(noBase64(body, status));
			expect(await outputOf(asking)).toMatchObject({ vectors: [[1], [2]], written: { as: "json" } });
			expect(formatsOf(asking)).toEqual(["base64", "float"]);
		});

		it("are requested as numbers from then on", async () => {
			const { timeouts } = TARGET;
			const observed = {};
			await requestFor(noBase64(NO_FORMAT), timeouts, observed).answer;
			const later = requestFor(noBase64(NO_FORMAT), timeouts, observed);
			expect(await outputOf(later)).toMatchObject({ vectors: [[1], [2]], written: { as: "json" } });
			expect(formatsOf(later)).toEqual(["float"]);
		});

		it("are requested in base64 again if the engine refused numbers, too", async () => {
			const { timeouts } = TARGET;
			const observed = {};
			const first = requestFor(() => json(NO_FORMAT, 400), timeouts, observed);
			expect(await failureOf(first.answer)).toMatchObject({ upstream: { status: 400 } });
			expect(formatsOf(first)).toEqual(["base64", "float"]);
			const later = requestFor(noBase64(NO_FORMAT), timeouts, observed);
			await later.answer;
			expect(formatsOf(later)).toEqual(["base64", "float"]);
		});

		it.each([
			["a bad input", { error: { message: "input is too long" } }, 400],
			[
				"a bad input, which it quotes with all else",
				{ detail: [{ loc: ["body", "model"], msg: "Missing", input: { encoding_format: "base64" } }] },
				422,
			],
			["a server that is full", NO_FORMAT, 429],
			["a server without a reason", "no", 400],
		])("are not requested again from %s", async (_, body, status) => {
			const asking = requestFor(noBase64(body, status));
			expect(await failureOf(asking.answer)).toMatchObject({ upstream: { status } });
			expect(formatsOf(asking)).toEqual(["base64"]);
		});

		describe("after a while", () => {
			beforeEach(() => void vi.useFakeTimers());
			afterEach(() => void vi.useRealTimers());
			const refusesAfter = (ms: number) => async (request: SentRequest) => {
				if (request.json.encoding_format === "float") return neverAnswers(request);
				await new Promise((resolve) => setTimeout(resolve, ms));
				return json(NO_FORMAT, 400);
			};

			it("leave the second call the remaining time", async () => {
				const asking = requestFor(refusesAfter(700), { headerMs: 5_000, idleMs: 5_000, totalMs: 1_000 });
				const failure = failureOf(asking.answer);
				await vi.advanceTimersByTimeAsync(999);
				expect(asking.call.requests[1]?.signal.aborted).toBe(false);
				await vi.advanceTimersByTimeAsync(1);
				expect(asking.call.requests[1]?.signal.aborted).toBe(true);
				expect(await failure).toMatchObject({ key: "modelTimeout" });
			});

			it("are not requested again if no time remains", async () => {
				const asking = requestFor(
					() => {
						vi.setSystemTime(Date.now() + 1_000);
						return json(NO_FORMAT, 400);
					},
					{ headerMs: 5_000, idleMs: 5_000, totalMs: 1_000 },
				);
				expect(await failureOf(asking.answer)).toMatchObject({ upstream: { status: 400 } });
				expect(formatsOf(asking)).toEqual(["base64"]);
			});
		});
	});

	it("that are refused as numbers are not requested again", async () => {
		const asking = ask("text-embeddings", INPUT, () => json({ error: { message: "encoding_format" } }, 400));
		expect(await failureOf(asking.answer)).toMatchObject({ upstream: { status: 400 } });
		expect(asking.call.requests).toHaveLength(1);
	});

	it.each([
		["of both kinds", [at(0, [1]), at(1, "AACAPw==")]],
		["no base64", [at(0, "AACAPw=="), at(1, "A*CAPw==")]],
		["no whole floats", [at(0, "AACAPw=="), at(1, "AACA")]],
		["not a number", [at(0, "AACAPw=="), at(1, "AADAfw==")]],
		["empty", [at(0, "AACAPw=="), at(1, "")]],
	])("rejects %s", async (_, data) => {
		const asking = ask("text-embeddings", { ...INPUT, encoding: "base64" }, () => json({ data }));
		expect(await failureOf(asking.answer)).toMatchObject({ key: "executionFailed" });
	});

	it.each([
		"[null]",
		"[true]",
		"[false]",
		'["1"]',
		"[[1]]",
		'[{"a":1}]',
		"[NaN]",
		"[-Infinity]",
		"[1, NaN]",
		"1",
		"null",
		'{"row":7}',
		"[1",
		"[]",
		"[0.1,,0.2]",
		"[1 2]",
		"[1,]",
		"[,1]",
		"[.5]",
		"[01]",
		"[1,2,-]",
		"[0x10]",
		"[1;2]",
		"[2026-11-21]",
		"[1,\u00a02]",
	])("rejects %s", async (sent) => {
		const reply = `{"data":[{"embedding":[1]},{"embedding":${sent}}]}`;
		expect(await failureOf(ask("text-embeddings", INPUT, () => json(reply)).answer)).toMatchObject({
			key: "executionFailed",
		});
	});

	it("of no texts are none", async () => {
		const output = await outputOf(ask("text-embeddings", { texts: [] }, () => json({ data: [] })));
		expect(output).toEqual({ vectors: [], written: { as: "json", rows: [], length: 0 } });
	});

	describe("of many numbers", () => {
		const many = (middle: string) => {
			const numbers = Array.from({ length: 200 }, () => "-0.0123");
			return `[${[...numbers, middle, ...numbers].join(", ")}]`;
		};
		const replyOf = (first: string, second: string) =>
			ask("text-embeddings", INPUT, () => json(`{"data":[{"embedding":${first}},{"embedding":${second}}]}`));

		it("keep their text", async () => {
			const row = many("1e-7");
			expect(await outputOf(replyOf(row, row))).toMatchObject({
				vectors: [JSON.parse(row), JSON.parse(row)],
				written: { as: "json", rows: [row, row], length: 401 },
			});
		});

		it.each(["01", ".5", "", "1-2"])("are refused where the first has %j in it", async (middle) => {
			const asking = replyOf(many(middle), many("1"));
			expect(await failureOf(asking.answer)).toMatchObject({ key: "executionFailed" });
		});

		it.each(["1 2", "NaN", "null", "0x10", "1;2"])("are refused where another has %j", async (middle) => {
			const asking = replyOf(many("1"), many(middle));
			expect(await failureOf(asking.answer)).toMatchObject({ key: "executionFailed" });
		});

		it.each([
			["near its beginning", `[1, 01, ${"-0.0123, ".repeat(200)}1]`],
			["near its end", `[1, ${"-0.0123, ".repeat(200)}01, 1]`],
			["as its last number", `[1, ${"-0.0123, ".repeat(200)}01]`],
		])("are refused where another has a number that is not JSON %s", async (_, row) => {
			expect(await failureOf(replyOf(many("1"), row).answer)).toMatchObject({ key: "executionFailed" });
		});

		it("fail when read if the checks found nothing", async () => {
			const output = await outputOf(replyOf(many("1"), many("01")));
			expect(() => output.vectors).toThrowError(
				expect.objectContaining({
					key: "executionFailed",
					upstream: { backend: "lab", excerpt: expect.stringMatching(/^\{"data":\[\{.{190,}$/) },
				}),
			);
		});
	});

	it.each([
		["too few", [at(0, [1])]],
		["too many", [at(0, [1]), at(1, [2]), at(2, [3])]],
		["the same twice", [at(0, [1]), at(0, [2])]],
		["one out of place", [at(0, [1]), at(7, [2])]],
		["one after the last", [at(0, [1]), at(2, [2])]],
		// An array with this place in it takes longer than a test may.
		["one far out of place", [at(0, [1]), at(300_000_000, [2])]],
		["one before the first", [at(-1, [1]), at(1, [2])]],
		["one empty", [at(0, [1]), at(1, [])]],
		["one in base64", [at(0, [1]), at(1, "AACAPw==")]],
	])("rejects %s", async (_, data) => {
		expect(await failureOf(ask("text-embeddings", INPUT, () => json({ data })).answer)).toMatchObject({
			key: "executionFailed",
		});
	});
});
