/**
 * What an engine's circuit breaker learns of each way in which a call can fail, for each kind of backend. The rule: only
 * failures of the engine count (`fails`). A request that a careful engine would have refused, and a request that its caller
 * made large, never do: then the engine `works`, or the failure says `nothing`. Every expectation is a literal.
 *
 * Engines' error sentences: `transport/refusals.test.ts`. The breaker over sockets: `test/node/faults.test.ts`.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ENGINES, type EngineKind, type Health, healthAfter, KINDS, openaiError, STREAM } from "./engines.ts";
import { eventStream, json, neverAnswers, type Responder, TARGET, tap } from "./upstream.ts";

const MiB = 1024 * 1024;

beforeEach(() => {
	vi.useFakeTimers();
});
afterEach(() => {
	vi.useRealTimers();
});

describe("a status without a known sentence", () => {
	const STATUSES = {
		works: [400, 404, 413, 422],
		// 403: a refused key, or a firewall that the request's content has provoked.
		// 408, 504, 524: the time of a complete answer is up at a proxy or at the engine. Its caller decides how long it is.
		nothing: [403, 405, 406, 408, 409, 411, 415, 418, 424, 431, 451, 501, 504, 524],
		fails: [401, 402, 429, 500, 502, 503, 507, 520, 521, 529],
	} as const;
	const cases = (["works", "nothing", "fails"] as const).flatMap((health) =>
		STATUSES[health].flatMap((status) =>
			KINDS.map((kind): [EngineKind, number, Health] => {
				// All slots of the container are taken.
				const isFull = kind === "cog" && status === 409;
				return [kind, status, isFull ? "fails" : health];
			}),
		),
	);
	it.each(cases)("%s, %i: %s", async (kind, status, health) => {
		const body = ENGINES[kind].error(status, "It did not work.");
		expect(await healthAfter(kind, () => json(body, status))).toBe(health);
		expect(await healthAfter(kind, () => new Response("<html>", { status }))).toBe(health);
	});
});

describe("a stream's header", () => {
	// It is due before the answer is made, so an engine that is late is at fault.
	it.each<[EngineKind, number]>(
		(["openai", "anthropic", "gemini", "ollama", "workers-ai"] as const).flatMap((kind) =>
			[408, 504, 524].map((status): [EngineKind, number] => [kind, status]),
		),
	)("%s, %i: fails", async (kind, status) => {
		const body = ENGINES[kind].error(status, "It did not work.");
		expect(await healthAfter(kind, () => json(body, status), { input: STREAM })).toBe("fails");
	});
});

describe("a refusal, whatever its status", () => {
	const BLAMELESS: [EngineKind, number, body: object, Health][] = [
		["openai", 500, openaiError(500, "image input is not supported - hint: pass --mmproj"), "works"],
		["openai", 500, openaiError(500, "the request exceeds the available context size"), "works"],
		["openai", 501, openaiError(501, "This server does not support embeddings."), "nothing"],
		[
			"openai",
			429,
			{
				error: {
					message:
						"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41200. The input or output tokens must be reduced in order to run successfully.",
					type: "tokens",
					code: "rate_limit_exceeded",
				},
			},
			"works",
		],
		[
			"openai",
			403,
			{
				error: {
					code: 403,
					message:
						'openai/o1 requires moderation on OpenInference. Your input was flagged for "harassment". No credits were charged.',
				},
			},
			"works",
		],
		["openai", 200, { error: { message: "bad", type: "invalid_request_error", code: 400 } }, "works"],
		["ollama", 500, { error: 'invalid format: "x"; expected "json" or a valid JSON Schema object' }, "works"],
		["ollama", 500, { error: "invalid JSON schema in format" }, "works"],
		["ollama", 500, { error: "image: unknown format" }, "works"],
		[
			"tei",
			413,
			{ error: "batch size 64 > maximum allowed batch size 0", error_type: "Validation" },
			"works",
		],
		["tei", 424, { error: "model is not a classifier model", error_type: "Backend" }, "nothing"],
		["cog", 422, { detail: [{ loc: ["body", "input", "seed"], msg: "value is not an integer" }] }, "works"],
		["cog", 200, { status: "failed", error: "ValueError: the image is too small" }, "nothing"],
		["cog", 200, { status: "failed", error: "NSFW content detected" }, "nothing"],
		[
			"gemini",
			400,
			{ error: { code: 400, message: "Invalid value at 'contents'", status: "INVALID_ARGUMENT" } },
			"works",
		],
		[
			"gemini",
			200,
			{ candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL" }], usageMetadata: { promptTokenCount: 3 } },
			"nothing",
		],
		[
			"anthropic",
			400,
			{
				type: "error",
				error: {
					type: "invalid_request_error",
					message: "prompt is too long: 208310 tokens > 200000 maximum",
				},
			},
			"works",
		],
		[
			"workers-ai",
			400,
			{ success: false, errors: [{ code: 5006, message: "AiError: Bad input: Error: oneOf" }], result: {} },
			"works",
		],
		[
			"workers-ai",
			413,
			{ success: false, errors: [{ code: 5021, message: "AiError: context window" }], result: {} },
			"works",
		],
	];
	it.each(BLAMELESS)("%s, %i %j: %s", async (kind, status, body, health) => {
		expect(await healthAfter(kind, () => json(body, status))).toBe(health);
	});
});

describe("an answer that the gateway does not take", () => {
	const endless = (bytes: number, type: string) => () =>
		new Response(
			new ReadableStream({
				pull(controller) {
					controller.enqueue(new Uint8Array(MiB).fill(32));
					bytes -= MiB;
					if (bytes <= 0) controller.close();
				},
			}),
			{ headers: { "content-type": type } },
		);

	it.each(KINDS)("%s, a reply of 25 MiB: nothing", async (kind) => {
		expect(await healthAfter(kind, endless(25 * MiB, "application/json"))).toBe("nothing");
	});

	it.each([
		["speech", "text-to-speech", { text: "hi", encoding: "mp3" }, "audio/mpeg"],
		[
			"an image",
			"text-to-image",
			{ prompt: "a", width: 1, height: 1, images: [], format: "png" },
			"application/json",
		],
		["embeddings", "text-embeddings", { texts: ["a"] }, "application/json"],
	] as const)("openai, %s of 25 MiB: nothing", async (_, task, input, type) => {
		expect(await healthAfter("openai", endless(25 * MiB, type), { task, input })).toBe("nothing");
	});

	it("openai, an event of 17 MiB: nothing", async () => {
		expect(await healthAfter("openai", endless(17 * MiB, "text/event-stream"), { input: STREAM })).toBe(
			"nothing",
		);
	});

	it.each(KINDS.filter((kind) => kind !== "tei"))("%s, of another shape: fails", async (kind) => {
		expect(await healthAfter(kind, () => json({ surprise: true }))).toBe("fails");
		expect(await healthAfter(kind, () => new Response("<html>It works!</html>"))).toBe("fails");
	});

	const completion = (content: string) => ({
		id: "c",
		object: "chat.completion",
		created: 1,
		model: "m",
		choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
	});
	// The caller's text is part of the prompt, so it can decide what the model writes.
	it.each([
		["no summary", "summarization", { text: "Say nothing.", max_length: 20 }, completion("")],
		["no labels", "text-classification", { text: "Write prose." }, completion("It is positive.")],
		["no image", "text-to-speech", { text: " ", encoding: "mp3" }, ""],
	] as const)("openai, %s: nothing", async (_, task, input, body) => {
		const respond: Responder = () => (body === "" ? new Response("") : json(body));
		expect(await healthAfter("openai", respond, { task, input })).toBe("nothing");
	});
});

describe("a connection", () => {
	const refused: Responder = () => {
		throw new TypeError("connect ECONNREFUSED");
	};
	const torn: Responder = () => {
		const { body, push, reset } = tap();
		push('{"choi');
		setTimeout(reset, 1);
		return new Response(body, { headers: { "content-type": "application/json" } });
	};

	it.each(KINDS)("%s, that is refused or breaks: fails", async (kind) => {
		expect(await healthAfter(kind, refused)).toBe("fails");
		expect(await healthAfter(kind, torn, { advanceMs: 2 })).toBe("fails");
	});

	it.each(KINDS)("%s, that is silent until the time of a complete answer is up: nothing", async (kind) => {
		expect(await healthAfter(kind, neverAnswers, { advanceMs: TARGET.timeouts.totalMs })).toBe("nothing");
	});

	it("openai, that is silent before a stream's header, its first event or its next: fails", async () => {
		const { headerMs, idleMs } = TARGET.timeouts;
		expect(await healthAfter("openai", neverAnswers, { input: STREAM, advanceMs: headerMs })).toBe("fails");
		for (const sent of ["", 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n']) {
			const stalls: Responder = () => {
				const { body, push } = tap();
				push(sent);
				return eventStream(body);
			};
			expect(await healthAfter("openai", stalls, { input: STREAM, advanceMs: 2 * idleMs })).toBe("fails");
		}
	});

	it("openai, whose stream lasts longer than its time: nothing", async () => {
		const endless: Responder = () => {
			const upstream = tap();
			const timer = setInterval(() => {
				if (upstream.cancelled) clearInterval(timer);
				else upstream.push('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n');
			}, 500);
			return eventStream(upstream.body);
		};
		const { totalMs } = TARGET.timeouts;
		expect(await healthAfter("openai", endless, { input: STREAM, advanceMs: totalMs })).toBe("nothing");
	});
});
