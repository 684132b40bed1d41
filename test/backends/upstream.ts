/** A fake upstream: it answers with a function of the test, and records the requests and whether they were aborted. */
import { afterEach, beforeEach, expect, vi } from "vitest";
import type { BackendServices, CallReport, Target } from "../../src/backends/backend.ts";
import type { Call } from "../../src/backends/transport/upstream-failure.ts";
import { type StartTimer, startNativeTimer } from "../../src/core/lazy-timer.ts";
import type { Model } from "../../src/models/model.ts";
import { plainSeals } from "./plain-seals.ts";

export const NOW = Date.parse("2026-11-21T12:00:00Z");
export const KEY = "sk-the-secret-of-the-target";

export const TARGET: Target = {
	backend: "lab",
	kind: "openai",
	url: "http://engine.test/v1",
	model: "engine-model",
	key: KEY,
	headers: { "x-tenant": "tenant-secret-value" },
	timeouts: { headerMs: 1_000, idleMs: 2_000, totalMs: 10_000 },
};

export const MODEL: Model = {
	id: "@cf/lab/model",
	uuid: "00000000-0000-4000-8000-000000000000",
	source: 1,
	task: "Text Generation",
	author: "lab",
	created: "2026-01-01",
	description: "",
	status: "active",
	input: "chat",
	output: "text-response",
	defaults: {},
	capabilities: [],
	prices: [],
	tags: [],
};

export interface SentRequest {
	url: string;
	headers: Headers;
	init: RequestInit;
	/** The JSON body. */
	json: Record<string, unknown>;
	/** The form body. */
	form: FormData;
	signal: AbortSignal;
}

export type Responder = (requests: SentRequest) => Response | Promise<Response>;

/** Services whose fetch is `respond`. Records all requests, and all work passed to `waitUntil`. */
export function servicesOf(respond: Responder): {
	services: BackendServices;
	requests: SentRequest[];
	background: Promise<unknown>[];
} {
	const requests: SentRequest[] = [];
	let ids = 0;
	const fetch = async (url: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
		const { body, signal } = init;
		if (!signal) throw new Error("a fetch without a signal cannot be stopped");
		const request: SentRequest = {
			url: String(url),
			headers: new Headers(init.headers),
			init,
			json: typeof body === "string" ? JSON.parse(body) : {},
			form: body instanceof FormData ? body : new FormData(),
			signal,
		};
		requests.push(request);
		return respond(request);
	};
	const background: Promise<unknown>[] = [];
	const services: BackendServices = {
		fetch,
		now: () => Date.now(),
		uuid: () => `uuid-${++ids}`,
		waitUntil: (promise) => void background.push(promise),
		startTimer: countedTimer,
	};
	return { services, requests, background };
}

export interface TestCall extends Call {
	requests: SentRequest[];
	background: Promise<unknown>[];
	/** The caller disconnects. */
	disconnect(): void;
}

const running = new Set<object>();

/** Each test sets the clock, which begins at `now`. After a test, no limit of its calls may run: it would hold the request open. */
export function withFakeTimers(now = () => Date.now()): void {
	beforeEach(() => {
		// Other tests share this module, and may have left calls that are not over.
		running.clear();
		vi.useFakeTimers({ now: now() });
	});
	afterEach(() => {
		vi.useRealTimers();
		expect(runningTimers()).toBe(0);
	});
}

/** As the native timer, but counted: `vi.getTimerCount` also counts those of other tests, which share the isolate. */
const countedTimer: StartTimer = (milliseconds, onTime) => {
	const timer = startNativeTimer(milliseconds, () => {
		running.delete(own);
		onTime();
	});
	const own = {
		cancel() {
			running.delete(own);
			timer.cancel();
		},
	};
	running.add(own);
	return own;
};

/** The limits of calls that are neither over nor cancelled. */
export const runningTimers = (): number => running.size;

export function callOf(
	respond: Responder,
	{ target = {}, model = {} }: { target?: Partial<Target>; model?: Partial<Model> } = {},
): TestCall {
	const caller = new AbortController();
	const { services, requests, background } = servicesOf(respond);
	const report: CallReport = { dropped: [] };
	return {
		report,
		seals: async () => plainSeals(report),
		target: { ...TARGET, ...target },
		services,
		model: { ...MODEL, ...model },
		signal: caller.signal,
		requests,
		background,
		disconnect: () => caller.abort(),
	};
}

/** A fetch without an answer. As the real one, it rejects when its signal aborts. */
export const neverAnswers: Responder = ({ signal }) =>
	new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("fetch was aborted"))));

export const json = (value: unknown, status = 200, headers: Record<string, string> = {}): Response =>
	new Response(typeof value === "string" ? value : JSON.stringify(value), {
		status,
		headers: { "content-type": "application/json; charset=utf-8", ...headers },
	});

export const eventStream = (body: ReadableStream<Uint8Array> | string): Response =>
	new Response(body, { headers: { "content-type": "text/event-stream" } });

export interface Tap {
	body: ReadableStream<Uint8Array>;
	push(text: string | Uint8Array): void;
	end(): void;
	/** The connection is reset. */
	reset(): void;
	cancelled: boolean;
}

/** A body that the test controls. */
export function tap(): Tap {
	let output: ReadableStreamDefaultController<Uint8Array> | undefined;
	const result: Tap = {
		body: new ReadableStream<Uint8Array>({
			start(controller) {
				output = controller;
			},
			cancel() {
				result.cancelled = true;
			},
		}),
		push: (text) => output?.enqueue(typeof text === "string" ? new TextEncoder().encode(text) : text),
		end: () => output?.close(),
		reset: () => output?.error(new Error("connection reset")),
		cancelled: false,
	};
	return result;
}

/** `bytes` in pieces that end at the offsets `cuts`. */
export function inPieces(bytes: Uint8Array, cuts: number[]): ReadableStream<Uint8Array> {
	const places = [...new Set([0, ...cuts, bytes.length])]
		.filter((cut) => cut <= bytes.length)
		.sort((a, b) => a - b);
	const pieces = places.slice(1).map((end, place) => bytes.slice(places[place], end));
	return new ReadableStream({
		pull(controller) {
			const piece = pieces.shift();
			if (piece) controller.enqueue(piece);
			else controller.close();
		},
	});
}

export interface Outcome {
	text: string;
	error?: unknown;
}

/** The complete text of a stream, and the error that ended it, if any. */
export async function drain(stream: ReadableStream<Uint8Array>): Promise<Outcome> {
	const decoder = new TextDecoder();
	let text = "";
	try {
		for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
		return { text };
	} catch (error) {
		return { text, error };
	}
}

/** The error that `work` rejects with. */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
	try {
		await work;
	} catch (error) {
		return error;
	}
	throw new Error("nothing was thrown");
}
