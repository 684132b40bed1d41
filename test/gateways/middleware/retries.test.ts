import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { type StartTimer, startNativeTimer } from "../../../src/core/lazy-timer.ts";
import { GatewayExchange } from "../../../src/gateways/exchange.ts";
import { delayAfter, retryMiddleware } from "../../../src/gateways/middleware/retries.ts";
import type { GatewayOptions } from "../../../src/gateways/options.ts";
import { composed, type GatewayRequest } from "../../../src/gateways/request.ts";
import { DEFAULT_SETTINGS, type GatewaySettings } from "../../../src/gateways/settings.ts";

const SETTINGS: GatewaySettings = {
	...DEFAULT_SETTINGS,
	id: "g",
	created_at: "",
	modified_at: "",
	is_default: false,
};

/** Each wait ends when the test calls `elapse`, or rejects when its signal fires. */
function virtualTime() {
	const waits: { milliseconds: number; resolve(): void; reject(reason: unknown): void }[] = [];
	const pending = new Set<(typeof waits)[number]>();
	const wait = (milliseconds: number, signal?: AbortSignal): Promise<void> => {
		const { promise, resolve, reject } = Promise.withResolvers<void>();
		const waiting = { milliseconds, resolve, reject };
		waits.push(waiting);
		pending.add(waiting);
		signal?.addEventListener("abort", () => reject(signal.reason));
		return promise.finally(() => pending.delete(waiting));
	};
	const startTimer: StartTimer = (milliseconds, onTime, left) => {
		const cancelled = new AbortController();
		left?.addEventListener("abort", () => cancelled.abort());
		wait(milliseconds, cancelled.signal).then(onTime, () => {});
		return { cancel: () => cancelled.abort() };
	};
	return {
		...{ startTimer, wait },
		/** Milliseconds of each wait, in order. */
		requested: () => waits.map(({ milliseconds }) => milliseconds),
		pending: () => pending.size,
		/** Ends all waits of this length. */
		elapse(milliseconds: number): void {
			for (const waiting of pending) if (waiting.milliseconds === milliseconds) waiting.resolve();
		},
	};
}

/** A wait that always ends at once, and records its length. */
function instantTime() {
	const delays: number[] = [];
	return {
		delays,
		wait: async (milliseconds: number, signal?: AbortSignal): Promise<void> => {
			signal?.throwIfAborted();
			delays.push(milliseconds);
		},
		startTimer: startNativeTimer,
	};
}

type Answer = (signal: AbortSignal) => Promise<Response> | Response;

function request(answers: Answer[], options: GatewayOptions = {}, extra: Partial<GatewayRequest> = {}) {
	const exchange = new GatewayExchange(
		{ id: "id", account: "a", gateway: "g", options, source: { type: "Universal" } },
		{ now: () => 0, observers: [] },
	);
	const signals: AbortSignal[] = [];
	const gatewayRequest: GatewayRequest = {
		account: "a",
		settings: SETTINGS,
		step: {
			provider: "openai",
			endpoint: "chat/completions",
			body: { contentType: "application/json", content: { json: {} } },
			format: "gateway",
			plane: "gateway",
			providerKey: undefined,
			options,
			call: async (signal) => {
				const answer = answers[signals.length];
				signals.push(signal);
				if (!answer) throw new Error("too many calls");
				return answer(signal);
			},
		},
		index: 0,
		hasFallback: false,
		exchange,
		signal: new AbortController().signal,
		...extra,
	};
	return { request: gatewayRequest, signals, exchange };
}

const status = (code: number) => () => new Response(`status ${code}`, { status: code });
/** Like a call of a provider, it ends with its signal. */
const never: Answer = (signal) =>
	new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
const failure = async (promise: Promise<unknown>): Promise<unknown> =>
	promise.then(
		() => expect.unreachable(),
		(error) => error,
	);

describe("attempts", () => {
	it("makes one attempt without a setting", async () => {
		const { request: one, exchange } = request([status(500)]);
		const response = await composed([retryMiddleware(instantTime())])(one);
		expect([response.status, exchange.facts.attempts]).toEqual([500, 1]);
	});

	it.each([408, 429, 500, 502, 503, 504, 529])("repeats after status %i", async (code) => {
		const time = instantTime();
		const { request: retried, exchange } = request([status(code), status(200)], {
			maxAttempts: 3,
			retryDelay: 7,
		});
		const response = await composed([retryMiddleware(time)])(retried);
		expect([response.status, time.delays, exchange.facts.attempts]).toEqual([200, [7], 2]);
	});

	it.each([200, 301, 400, 401, 402, 403, 404, 409, 413, 422])(
		"does not repeat after status %i",
		async (code) => {
			const time = instantTime();
			const answer = code === 301 ? () => new Response(null, { status: 301 }) : status(code);
			const { request: single } = request([answer], { maxAttempts: 5 });
			const response = await composed([retryMiddleware(time)])(single);
			expect([response.status, time.delays]).toEqual([code, []]);
		},
	);

	it("returns the answer to the last attempt", async () => {
		const { request: failing } = request([status(500), status(502), status(503)], { maxAttempts: 3 });
		const response = await composed([retryMiddleware(instantTime())])(failing);
		expect(await response.text()).toBe("status 503");
	});

	it("repeats after an exception with a retryable status, and throws that of the last attempt", async () => {
		const unavailable = () => Promise.reject(new AiError("upstreamUnavailable"));
		const { request: failing } = request([unavailable, unavailable], { maxAttempts: 2 });
		expect(await failure(composed([retryMiddleware(instantTime())])(failing))).toMatchObject({ code: 7009 });
		const refused = () => Promise.reject(new AiError("invalidInput"));
		const { request: invalid, signals } = request([refused], { maxAttempts: 2 });
		expect(await failure(composed([retryMiddleware(instantTime())])(invalid))).toMatchObject({ code: 8001 });
		expect(signals.length).toBe(1);
	});

	it("cancels the body of an answer that it drops", async () => {
		const cancelled = Promise.withResolvers<void>();
		const body = new ReadableStream({ cancel: () => cancelled.resolve() });
		const { request: retried } = request([() => new Response(body, { status: 503 }), status(200)], {
			maxAttempts: 2,
		});
		await composed([retryMiddleware(instantTime())])(retried);
		await cancelled.promise;
	});

	it("stops when the caller disconnects", async () => {
		const caller = new AbortController();
		const time = virtualTime();
		const { request: retried, signals } = request(
			[status(500)],
			{ maxAttempts: 5 },
			{ signal: caller.signal },
		);
		const answer = failure(composed([retryMiddleware(time)])(retried));
		await expect.poll(time.pending).toBe(1);
		caller.abort(new AiError("aborted"));
		expect(await answer).toMatchObject({ code: 3008 });
		expect(signals.length).toBe(1);
	});

	it("takes the gateway's settings, unless the request has its own", async () => {
		const settings: GatewaySettings = {
			...SETTINGS,
			retry_max_attempts: 3,
			retry_delay: 40,
			retry_backoff: "linear",
		};
		const time = instantTime();
		const { request: byGateway } = request([status(500), status(500), status(500)], {}, { settings });
		await composed([retryMiddleware(time)])(byGateway);
		expect(time.delays).toEqual([40, 80]);
		const own = instantTime();
		const options: GatewayOptions = { maxAttempts: 2, retryDelay: 0, backoff: "constant" };
		const { request: byRequest } = request([status(500), status(500)], options, { settings });
		await composed([retryMiddleware(own)])(byRequest);
		expect(own.delays).toEqual([0]);
	});
});

it.each([
	["constant", [50, 50, 50, 50]],
	["linear", [50, 100, 150, 200]],
	["exponential", [50, 100, 200, 400]],
] as const)("delays with %s backoff", (backoff, expected) => {
	expect([1, 2, 3, 4].map((attempt) => delayAfter(attempt, { delayMs: 50, backoff }))).toEqual(expected);
});

describe("the timeout until the first byte", () => {
	it("ends a single attempt with 504, and aborts it", async () => {
		const time = virtualTime();
		const { request: slow, signals } = request([never], { requestTimeout: 300 });
		const answer = failure(composed([retryMiddleware(time)])(slow));
		await expect.poll(time.requested).toEqual([300]);
		time.elapse(300);
		expect(await answer).toMatchObject({
			code: 9504,
			status: 504,
			description: "The provider did not answer within 300 ms",
		});
		expect(signals[0]?.aborted).toBe(true);
	});

	it("does not apply to the last of several attempts", async () => {
		const time = virtualTime();
		const last = Promise.withResolvers<Response>();
		const { request: slow, signals } = request([never, () => last.promise], {
			maxAttempts: 2,
			requestTimeout: 300,
			retryDelay: 20,
		});
		const answer = composed([retryMiddleware(time)])(slow);
		await expect.poll(time.requested).toEqual([300]);
		time.elapse(300);
		await expect.poll(time.requested).toEqual([300, 20]);
		time.elapse(20);
		await expect.poll(() => signals.length).toBe(2);
		expect(time.pending()).toBe(0);
		last.resolve(new Response("late"));
		expect(await (await answer).text()).toBe("late");
	});

	it("applies to the last attempt of a step that another step follows", async () => {
		const time = virtualTime();
		const options: GatewayOptions = { maxAttempts: 2, requestTimeout: 300, retryDelay: 20 };
		const { request: slow } = request([never, never], options, { hasFallback: true });
		const answer = failure(composed([retryMiddleware(time)])(slow));
		await expect.poll(time.requested).toEqual([300]);
		time.elapse(300);
		await expect.poll(time.requested).toEqual([300, 20]);
		time.elapse(20);
		await expect.poll(time.requested).toEqual([300, 20, 300]);
		time.elapse(300);
		expect(await answer).toMatchObject({ code: 9504 });
	});

	it("does not end a stream that has started", async () => {
		const time = virtualTime();
		const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
		const { request: streamed, signals } = request([() => new Response(readable)], { requestTimeout: 300 });
		const response = await composed([retryMiddleware(time)])(streamed);
		await expect.poll(time.pending).toBe(0);
		time.elapse(300);
		expect(signals[0]?.aborted).toBe(false);
		const writer = writable.getWriter();
		void writer.write(new TextEncoder().encode("text")).then(() => writer.close());
		expect(await response.text()).toBe("text");
	});

	it("still passes the caller's disconnection to the stream", async () => {
		const caller = new AbortController();
		const { request: streamed, signals } = request(
			[status(200)],
			{ requestTimeout: 300 },
			{ signal: caller.signal },
		);
		await composed([retryMiddleware(virtualTime())])(streamed);
		caller.abort();
		expect(signals[0]?.aborted).toBe(true);
	});

	it("ends when the caller leaves: no code of its request may run after that", async () => {
		const caller = new AbortController();
		const time = virtualTime();
		// Unlike a call of a provider, it goes on.
		const { request: slow } = request(
			[() => new Promise<never>(() => {})],
			{ requestTimeout: 300 },
			{ signal: caller.signal },
		);
		void composed([retryMiddleware(time)])(slow);
		await expect.poll(time.pending).toBe(1);
		caller.abort();
		await expect.poll(time.pending).toBe(0);
	});
});
