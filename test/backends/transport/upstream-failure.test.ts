import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { postJson } from "../../../src/backends/transport/http.ts";
import { failureOfBody, withoutSecrets } from "../../../src/backends/transport/upstream-failure.ts";
import { AiError } from "../../../src/core/errors.ts";
import contextExceeded from "../../fixtures/openai/llama-cpp/error-context.json?raw";
import noEmbeddings from "../../fixtures/openai/llama-cpp/error-no-embeddings.json?raw";
import noMessages from "../../fixtures/openai/llama-cpp/error-no-messages.json?raw";
import noRoute from "../../fixtures/openai/llama-cpp/error-no-route.json?raw";
import noVision from "../../fixtures/openai/llama-cpp/error-no-vision.json?raw";
import unauthorized from "../../fixtures/openai/llama-cpp/error-unauthorized.json?raw";
import { callOf, failureOf, json, KEY, NOW, neverAnswers, type Responder, TARGET, tap } from "../upstream.ts";

async function refusal(
	status: number,
	body: unknown = {},
	headers: Record<string, string> = {},
): Promise<AiError> {
	const call = callOf(() => json(body, status, headers));
	call.services.now = () => NOW;
	return (await failureOf(postJson(call, "/route", {}, z.object({})))) as AiError;
}

/** All texts of a failure that a log could contain. */
const loggedText = ({ message, stack, description, cause, upstream }: AiError): string =>
	[message, stack, description, String(cause), (cause as Error)?.stack, JSON.stringify(upstream)].join("\n");

const credentials = "The backend 'lab' refused the gateway's credentials";
const noSuch = "No such model @cf/lab/model or task: the backend 'lab' has no model 'engine-model'";
const capacity = "Capacity temporarily exceeded, please try again.";
const unreachable = "The backend 'lab' cannot be reached";
const outOfTime = "The backend 'lab' ran out of time";

describe("a backend's own mapping of refusals", () => {
	const refusals: unknown[] = [];
	const callWith = (text: string, status: number) => {
		const call = callOf(() => json(text, status, { "retry-after": "7" }));
		call.refusal = (refused) => {
			refusals.push(refused);
			return (refused.body as { code?: number } | undefined)?.code === 1
				? new AiError("deprecatedModel")
				: undefined;
		};
		return { call, failure: failureOf(postJson(call, "/route", {}, z.object({ fine: z.literal(true) }))) };
	};

	it("takes precedence over the table, and gets the body, the status and the wait", async () => {
		refusals.length = 0;
		expect(await callWith('{"code":1}', 429).failure).toMatchObject({ key: "deprecatedModel" });
		expect(await callWith("no JSON", 404).failure).toMatchObject({ key: "noSuchModel" });
		expect(await callWith('{"code":2}', 500).failure).toMatchObject({
			key: "executionFailed",
			retryAfter: 7,
		});
		expect(refusals).toEqual([
			{ status: 429, body: { code: 1 }, retryAfter: 7 },
			{ status: 404, body: "no JSON", retryAfter: 7 },
			{ status: 500, body: { code: 2 }, retryAfter: 7 },
		]);
	});

	it("applies to errors inside an answer, too", async () => {
		refusals.length = 0;
		expect(await callWith('{"error":{},"code":1}', 200).failure).toMatchObject({ key: "deprecatedModel" });
		expect(refusals).toEqual([{ body: { error: {}, code: 1 } }]);
	});
});

describe("a status", () => {
	it.each([
		[400, "engineRefused", "The backend 'lab' refused the request"],
		[401, "upstreamUnavailable", credentials],
		[402, "upstreamUnavailable", "The backend 'lab' has used up its quota or credit"],
		[403, "upstreamUnavailable", credentials],
		[404, "noSuchModel", noSuch],
		[405, "executionFailed", "The backend 'lab' failed with HTTP 405"],
		[408, "modelTimeout", outOfTime],
		[413, "requestTooLarge", "Request is too large"],
		[418, "executionFailed", "The backend 'lab' failed with HTTP 418"],
		[422, "engineRefused", "The backend 'lab' refused the request"],
		[429, "outOfCapacity", capacity],
		[500, "executionFailed", "The backend 'lab' failed with HTTP 500"],
		[501, "executionFailed", "The backend 'lab' failed with HTTP 501"],
		[502, "executionFailed", "The backend 'lab' failed with HTTP 502"],
		[503, "outOfCapacity", capacity],
		[504, "modelTimeout", outOfTime],
		[520, "executionFailed", "The backend 'lab' failed with HTTP 520"],
		[521, "upstreamUnavailable", unreachable],
		[522, "upstreamUnavailable", unreachable],
		[523, "upstreamUnavailable", unreachable],
		[524, "modelTimeout", outOfTime],
		[525, "upstreamUnavailable", unreachable],
		[526, "upstreamUnavailable", unreachable],
		[529, "outOfCapacity", capacity],
		[530, "upstreamUnavailable", unreachable],
	])("%i is %s", async (status, key, description) => {
		expect(await refusal(status)).toMatchObject({ key, description });
	});
});

describe("an error of llama.cpp", () => {
	it.each([
		[400, noMessages, "engineRefused", "'messages' is required"],
		[
			400,
			contextExceeded,
			"contextWindowExceeded",
			"request (341 tokens) exceeds the available context size (128 tokens), try increasing it",
		],
		[401, unauthorized, "upstreamUnavailable", credentials],
		[404, noRoute, "noSuchModel", noSuch],
		[
			500,
			noVision,
			"engineRefused",
			"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
		],
		[
			501,
			noEmbeddings,
			"engineRefused",
			"This server does not support embeddings. Start it with `--embeddings`",
		],
	])("with %i %s", async (status, body, key, description) => {
		expect(await refusal(status, body)).toMatchObject({ key, description });
	});

	it("about itself is dropped: the log has the backend and the status", async () => {
		const error = await refusal(500, {
			error: { code: 500, message: "Compute error.", type: "server_error" },
		});
		expect(error.upstream).toEqual({ backend: "lab", status: 500 });
		expect(loggedText(error)).not.toContain("Compute");
	});
});

describe("another target", () => {
	it.each<[number, unknown, string, boolean]>([
		[300, {}, "upstreamUnavailable", true],
		[399, {}, "upstreamUnavailable", true],
		[404, {}, "noSuchModel", true],
		[413, {}, "requestTooLarge", false],
		[429, { error: { message: "Request too large for gpt-4o" } }, "requestTooLarge", true],
		[501, { error: { message: "no images" } }, "engineRefused", true],
		[400, { error: { message: "no images" } }, "engineRefused", false],
	])("after %i %j, which is %s, may be called: %s", async (status, body, key, retryable) => {
		expect(await refusal(status, body)).toMatchObject({ key, retryable });
	});
});

describe("the message of a refusal", () => {
	it.each([
		["OpenAI", { error: { message: "m", type: "invalid_request_error", param: "n", code: null } }],
		["vLLM 0.10", { object: "error", message: "m", type: "BadRequestError", param: null, code: 400 }],
		["LM Studio", { error: "m" }],
		["TEI", { error: "m", error_type: "Validation" }],
		["FastAPI", { detail: "m" }],
		["FastAPI, validating", { detail: [{ type: "missing", loc: ["body", "model"], msg: "m", input: {} }] }],
	])("is found in the format of %s", async (_, body) => {
		expect(await refusal(400, body)).toMatchObject({ key: "engineRefused", description: "m" });
	});

	it.each([
		"",
		"null",
		"[]",
		"5",
		"<html>",
		'{"error":null}',
		'{"error":{"message":{"a":1}}}',
		'{"detail":[null]}',
	])("may be missing: %s", async (body) => {
		expect((await refusal(400, body)).description).toMatch(/^(The backend 'lab' refused the request|null)$/);
	});

	it("of 500 characters stays as it is", async () => {
		const message = "x".repeat(500);
		expect((await refusal(400, { error: { message } })).description).toBe(message);
	});

	it("is shortened", async () => {
		const { description } = await refusal(400, { error: { message: "x".repeat(50_000) } });
		expect(description).toBe(`${"x".repeat(500)}…`);
	});
});

describe("a content filter", () => {
	it.each(["content_filter", "content_policy_violation", "moderation_blocked"])("as %s", async (code) => {
		const error = await refusal(400, { error: { message: "Your prompt was filtered.", code } });
		expect(error).toMatchObject({
			key: "refusedByModel",
			description: "Your prompt was filtered.",
			retryable: false,
		});
	});
});

describe("the requested wait", () => {
	it.each([
		[{ "retry-after": "7" }, 7],
		[{ "retry-after": "0" }, 0],
		[{ "retry-after": "1.2" }, 2],
		[{ "retry-after": "Sat, 21 Nov 2026 12:00:30 GMT" }, 30],
		[{ "retry-after": "Sat, 21 Nov 2026 11:00:00 GMT" }, 0],
		[{ "retry-after-ms": "1500", "retry-after": "60" }, 2],
		[{ "retry-after-ms": "soon", "retry-after": "60" }, 60],
		[{ "retry-after": "86401" }, 86_400],
		[{ "retry-after": "9".repeat(400) }, 86_400],
		[{ "retry-after-ms": "9".repeat(400) }, 86_400],
		[{ "retry-after": "Sat, 21 Nov 2999 12:00:00 GMT" }, 86_400],
		[{ "retry-after": "NaN" }, undefined],
		[{ "retry-after": "Sat, 41 Nov 2026 12:00:00 GMT" }, undefined],
		[{ "retry-after-ms": "-1" }, undefined],
		[{ "retry-after": "soon" }, undefined],
		[{ "retry-after": "" }, undefined],
		[{ "retry-after": "-5" }, undefined],
		[{ "retry-after": "Infinity" }, undefined],
		[{}, undefined],
	])("%j is %s seconds", async (headers, seconds) => {
		expect((await refusal(429, {}, headers)).retryAfter).toBe(seconds);
		expect((await refusal(503, {}, headers)).retryAfter).toBe(seconds);
	});
});

describe("an error inside an answer", () => {
	it.each([
		[{ error: { message: "m", code: 400 } }, "engineRefused"],
		[{ error: { message: "m", code: "429" } }, "outOfCapacity"],
		[{ error: { message: "m", type: "invalid_request_error", code: null } }, "engineRefused"],
		[{ error: { message: "m", code: "rate_limit_exceeded" } }, "outOfCapacity"],
		[{ error: { message: "m", code: "content_filter" } }, "refusedByModel"],
		[{ error: { message: "m", type: "server_error" } }, "executionFailed"],
		[{ error: { message: "m", code: 5 } }, "executionFailed"],
		[{ error: "m" }, "executionFailed"],
		[{ object: "error", message: "m", type: "BadRequestError", code: 400 }, "engineRefused"],
	])("%j is %s", (body, key) => {
		expect(
			failureOfBody(
				callOf(() => json({})),
				body,
			),
		).toMatchObject({ key });
	});
});

describe("`upstream` for the log", () => {
	const upstreamOf = async (failure: Promise<unknown>) => ((await failure) as AiError).upstream;
	const REPLY = z.object({ answer: z.number() });

	it.each([301, 400, 401, 404, 413, 422, 429, 500, 503, 504])(
		"is the backend and HTTP %i",
		async (status) => {
			const error = await refusal(status, { error: { message: "quotes a prompt" } });
			expect(error.upstream).toEqual({ backend: "lab", status });
			expect(error.cause).toBeUndefined();
		},
	);

	it("has the status of an error inside an answer", () => {
		const call = callOf(() => json({}));
		expect(failureOfBody(call, { error: { message: "m", code: 429 } }).upstream).toEqual({
			backend: "lab",
			status: 429,
		});
	});

	it.each([
		[{ type: "BadRequestError" }, 400],
		[{ type: "invalid_request_error" }, 400],
		[{ type: "exceed_context_size_error" }, 400],
		[{ type: "authentication_error" }, 401],
		[{ type: "billing_error" }, 402],
		[{ type: "permission_error" }, 403],
		[{ type: "not_found_error" }, 404],
		[{ type: "request_too_large" }, 413],
		[{ type: "rate_limit_error" }, 429],
		[{ code: "rate_limit_exceeded" }, 429],
		[{ code: "insufficient_quota" }, 429],
		[{ type: "not_supported_error" }, 501],
		[{ type: "overloaded_error" }, 503],
		[{ type: "unavailable_error" }, 503],
		[{ type: "timeout_error" }, 504],
		[{ type: "a_new_error" }, 500],
		[{ code: 400 }, 400],
		[{ code: 399 }, 500],
		[{ code: 599 }, 599],
		[{ code: 600 }, 500],
		[{ code: 400.5 }, 500],
	])("has the status of the error %j inside an answer: %i", (error, status) => {
		const failure = failureOfBody(
			callOf(() => json({})),
			{ error },
		);
		expect(failure.upstream).toEqual({ backend: "lab", status });
	});

	it("has only the backend if there is no status", async () => {
		const upstreamFor = (respond: Responder) =>
			upstreamOf(failureOf(postJson(callOf(respond), "/route", {}, REPLY)));
		const backend = { backend: "lab" };
		expect(await upstreamFor(() => Promise.reject(new Error("refused")))).toEqual(backend);
		const { body, push, reset } = tap();
		push("{");
		reset();
		expect(await upstreamFor(() => new Response(body))).toEqual(backend);
	});

	it("is absent if the caller has disconnected", async () => {
		const call = callOf(neverAnswers);
		const failure = failureOf(postJson(call, "/route", {}, REPLY));
		call.disconnect();
		expect(await upstreamOf(failure)).toBeUndefined();
	});

	it("has the first 200 characters of an answer of an unexpected form, without secrets", async () => {
		const text = `${KEY} ${"é".repeat(500)}`;
		const error = (await failureOf(
			postJson(
				callOf(() => json(text)),
				"/route",
				{},
				REPLY,
			),
		)) as AiError;
		expect(error.upstream).toEqual({ backend: "lab", excerpt: `[redacted] ${"é".repeat(189)}` });
		expect(error.status).toBe(502);
		expect(error.description).toBe("The backend 'lab' answered with something that is not a reply of /route");
	});

	it("has the text of an answer of an unexpected form in the excerpt only", async () => {
		const modelText = "what the model wrote";
		for (const body of [
			modelText,
			JSON.stringify({ [modelText]: modelText }),
			JSON.stringify({ answer: modelText }),
			`{"answer":${modelText}`,
		]) {
			const call = callOf(() => json(body));
			const error = (await failureOf(postJson(call, "/route", {}, z.strictObject(REPLY.shape)))) as AiError;
			expect(error.key).toBe("executionFailed");
			expect(error.upstream?.excerpt).toContain(modelText);
			expect([error.message, error.stack, String(error.cause)].join()).not.toContain(modelText);
		}
	});
});

describe("secrets", () => {
	it("are in no error, wherever an upstream repeats them", async () => {
		const secret = fc.string({ minLength: 8, maxLength: 60 }).filter((text) => text.trim() === text);
		await fc.assert(
			fc.asyncProperty(
				secret,
				fc.integer({ min: 400, max: 599 }),
				fc.string({ maxLength: 600 }),
				fc.constantFrom("error", "string", "message", "detail", "list"),
				async (key, status, around, shape) => {
					const message = `${around}${key}${around} Bearer ${key}`;
					const body = {
						error: { error: { message } },
						string: { error: message },
						message: { message, type: key, code: key },
						detail: { detail: message },
						list: { detail: [{ msg: message }] },
					}[shape];
					const call = callOf(() => json(body, status), { target: { key: undefined } });
					// Not every string can be a header; the key is searched for in any case.
					call.target = { ...TARGET, headers: { "x-key": key } };
					const error = failureOfBody(call, body);
					expect(loggedText(error)).not.toContain(key);
					const plain = { ...TARGET, headers: {}, key };
					expect(withoutSecrets(plain, message)).not.toContain(key);
				},
			),
		);
	});

	it("are in no error of a real exchange", async () => {
		for (const status of [400, 401, 404, 422, 429, 500, 501, 503])
			for (const body of [{ error: { message: `bad key ${KEY}, ${TARGET.headers["x-tenant"]}` } }, KEY]) {
				const text = loggedText(await refusal(status, body));
				expect(text).not.toContain(KEY);
				expect(text).not.toContain("tenant-secret-value");
			}
	});

	it("are not halved by the shortening", async () => {
		for (let padding = 470; padding < 505; padding++) {
			const { description } = await refusal(400, { error: { message: "x".repeat(padding) + KEY } });
			expect(description).not.toMatch(/sk-/);
		}
	});

	it("are not halved by one another", () => {
		const target = { ...TARGET, key: "abcdefgh", headers: { a: "Bearer abcdefgh ijklmnop" } };
		expect(withoutSecrets(target, "x Bearer abcdefgh ijklmnop y abcdefgh")).toBe("x [redacted] y [redacted]");
	});

	it("are headers of at least eight characters, and a key of any length", () => {
		const target = { ...TARGET, key: "k", headers: { a: "12345678", b: "1234567" } };
		expect(withoutSecrets(target, "12345678 1234567 k")).toBe("[redacted] 1234567 [redacted]");
		expect(withoutSecrets({ ...TARGET, key: undefined, headers: {} }, "undefined")).toBe("undefined");
		const nested = { ...TARGET, key: "abcdefghij", headers: { a: "abcdefgh", b: "abcdefghijkl" } };
		expect(withoutSecrets(nested, "abcdefghijkl abcdefghij abcdefgh")).toBe(
			"[redacted] [redacted] [redacted]",
		);
	});

	it("are not the short words of a header", () => {
		const target = { ...TARGET, headers: { accept: "json" } };
		expect(withoutSecrets(target, "not json")).toBe("not json");
	});
});
