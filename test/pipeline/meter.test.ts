import { describe, expect, it, type MockInstance, vi } from "vitest";
import type { Settlement } from "../../src/accounts/admission.ts";
import { createApp } from "../../src/app.ts";
import { AiError } from "../../src/core/errors.ts";
import { Catalog } from "../../src/models/catalog.ts";
import type { Model } from "../../src/models/model.ts";
import { meter } from "../../src/pipeline/meter.ts";
import type { Served } from "../../src/pipeline/request.ts";
import { EventStream } from "../../src/streams/sse.ts";
import type { TranscriptionEvent } from "../../src/tasks/live-transcription/types.ts";
import type { Answer, TaskCall } from "../../src/tasks/task.ts";
import type { ChatCompletion } from "../../src/tasks/text-generation/types.ts";
import {
	BASE,
	completion,
	delta,
	ENGINE_VARS,
	events,
	finish,
	liveEvents,
	OPEN_ACCESS,
	replaceServices,
	testServices,
} from "../gateway.ts";
import { observedExchange } from "./exchanges.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const MESSAGES = [{ role: "user", content: "Hi" }];
const TIMERS = { startTimer: () => ({ cancel: () => {} }) };

/** Asks for a stream behind one or more engines; says what the log was told. */
function gateway(reply: (url: string) => Response, engines = ["a"]) {
	const logged: [code: number, backend: string | undefined, requestId: string][] = [];
	const backends = engines.map((name) => [name, { kind: "openai", url: `http://${name}/v1` }]);
	const services = testServices({
		vars: {
			...ENGINE_VARS,
			BACKENDS: Object.fromEntries(backends),
			ROUTES: { "*": engines.map((backend) => ({ backend, model: "engine-model" })) },
		},
		fetch: async (input, init) => reply(new Request(input, init).url),
	});
	const log = ({ code, upstream }: AiError, id: string) => void logged.push([code, upstream?.backend, id]);
	const app = createApp(replaceServices(services, { log }), OPEN_ACCESS);
	const ask = async (path = "/v1/chat/completions") =>
		app.request(`${BASE}${path}`, {
			method: "POST",
			body: JSON.stringify({ model: LLAMA, messages: MESSAGES, input: MESSAGES, stream: true }),
			headers: { "content-type": "application/json" },
		});
	return { ask, logged };
}

describe("the log, of a stream", () => {
	it.each(["/v1/chat/completions", "/v1/responses", `/run/${LLAMA}`])("has its cut: %s", async (path) => {
		const { ask, logged } = gateway(() => events(delta("Hel")));
		const response = await ask(path);
		expect(await response.text()).not.toContain("[DONE]");
		expect(logged).toEqual([[5001, "a", response.headers.get("cf-ai-req-id")]]);
	});

	it("has the error that an engine sent instead of an end", async () => {
		const failed = `data: ${JSON.stringify({ error: { message: "out of memory", code: 500 } })}\n\n`;
		const { ask, logged } = gateway(() => events(delta("Hel"), failed));
		await (await ask()).text();
		expect(logged).toEqual([[5001, "a", expect.any(String)]]);
	});

	it("has each engine's failure once, if several were called", async () => {
		let calls = 0;
		const { ask, logged } = gateway(
			() => (calls++ === 0 ? events(delta("Hel")) : new Response(null, { status: 503 })),
			["a", "b"],
		);
		await (await ask()).text();
		expect(logged).toEqual([
			[5001, "a", expect.any(String)],
			[3040, "b", expect.any(String)],
			[3040, "a", expect.any(String)],
		]);
	});

	it("has no line for a complete stream, nor for a caller that disconnects", async () => {
		const whole = gateway(() => events(delta("Hi"), finish(), "data: [DONE]\n\n"));
		await (await whole.ask()).text();
		expect(whole.logged).toEqual([]);

		const live = liveEvents();
		live.send(delta("Hel"));
		const left = gateway(() => live.response);
		const reader = (await left.ask()).body?.getReader();
		await reader?.read();
		const waiting = reader?.read();
		await reader?.cancel();
		await live.cancelled;
		expect(await waiting).toMatchObject({ done: true });
		expect(left.logged).toEqual([]);
	});
});

describe("a stream with a chunk that is odd", () => {
	const NULL_CHOICES = `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: null })}\n\n`;

	/** The text, and how its request was settled. */
	async function outcomeOf(path: string, ...frames: string[]) {
		const services = testServices({ vars: ENGINE_VARS, fetch: async () => events(...frames) });
		const settled = new Set<MockInstance<(settlement: Settlement) => void>>();
		const ledgers = {
			of(account: string) {
				const ledger = services.ledgers.of(account);
				settled.add(vi.spyOn(ledger, "settle"));
				return ledger;
			},
		};
		const app = createApp(replaceServices(services, { ledgers }), OPEN_ACCESS);
		const asked = { messages: MESSAGES, stream: true };
		const response = await app.request(`${BASE}${path}`, {
			method: "POST",
			body: JSON.stringify(
				path.startsWith("/run/") ? asked : { ...asked, model: LLAMA, input: MESSAGES, max_tokens: 50 },
			),
			headers: { "content-type": "application/json" },
		});
		const text = await response.text();
		return {
			text,
			outcomes: [...settled].flatMap(({ mock }) => mock.calls.map(([{ outcome }]) => outcome)),
		};
	}

	it.each(["/v1/chat/completions", "/v1/responses", "/v1/messages", `/run/${LLAMA}`])(
		"has no choices: null is none, and the answer is whole: %s",
		async (path) => {
			const frames = [delta("Hel"), NULL_CHOICES, delta("lo"), finish(), "data: [DONE]\n\n"];
			const { text, outcomes } = await outcomeOf(path, ...frames);
			expect(text).toContain("lo");
			expect(text).not.toContain('"error":{');
			expect(outcomes).toEqual(["ok"]);
		},
	);

	it.each(["/v1/chat/completions", "/v1/responses", "/v1/messages", `/run/${LLAMA}`])(
		"cannot be written: the request is cut, which is the engine's doing, and not the caller's: %s",
		async (path) => {
			// A chunk for the backend; no chunk for any dialect.
			const odd = "data: 7\n\n";
			const { text, outcomes } = await outcomeOf(path, delta("Hel"), odd, finish(), "data: [DONE]\n\n");
			expect(text).toContain("Hel");
			expect(text).toMatch(/error/);
			expect(outcomes).toEqual(["interrupted"]);
		},
	);
});

describe("the exchange of a stream", () => {
	const model = new Catalog().find(LLAMA);
	if (!model) throw new Error("no model");
	const call: TaskCall = {
		task: "text-generation",
		input: { messages: [{ role: "user", content: "Hi" }], stream: true },
	};

	const counts = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
	it("has the bill beside the counts, a hedge included, in a complete answer and at the end of a stream", async () => {
		const settlements: Settlement[][] = [];
		const lost = { why: "hedge", backend: "b", model: "m", progress: { usage: counts, outputTokens: 0 } };
		const served = { backend: "a", model: "m", attempts: 2, wasted: [lost] } as Served;
		const tell = async (answer: Answer<"text-generation">) => {
			const observed = observedExchange({ model, admission: {} });
			settlements.push(observed.settled);
			return meter(
				observed.exchange,
				{ call, answer: { task: "text-generation", answer }, served },
				model as Model,
				TIMERS,
			);
		};
		const output = { ...completion("Hello"), usage: counts } as ChatCompletion;
		const whole = await tell({ kind: "value", output });
		expect(whole.neurons).toBe(0.97);
		expect(whole.withCost(counts)).toEqual({ ...counts, neurons: 0.97 });

		const progress = { usage: counts, outputTokens: 2 };
		const events = new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
		const begun = await tell({ kind: "stream", events, progress });
		expect(begun.neurons).toBeUndefined();
		expect(begun.withCost(counts)).toEqual({ ...counts, neurons: 0.97 });
		if (begun.answer.answer.kind === "stream") await begun.answer.answer.events.getReader().read();
		const bills = settlements.flat().map(({ microNeurons }) => microNeurons);
		expect(bills).toEqual([979_228, 979_228]);
	});

	/** A metered stream of `source`, with what is settled and logged of it. */
	async function metered(source: UnderlyingSource<Uint8Array>) {
		const { exchange, settled, logged } = observedExchange({ model, admission: {} });
		const progress = { usage: undefined, outputTokens: 3 };
		const answer = { kind: "stream", events: new ReadableStream(source), progress } as const;
		const served = { backend: "a", model: "m", attempts: 1, wasted: [] };
		const dispatched = { call, answer: { task: "text-generation", answer }, served } as const;
		const result = await meter(exchange, dispatched, model as Model, TIMERS);
		if (result.answer.answer.kind !== "stream") throw new Error("no stream");
		return {
			outcomes: () => settled.map(({ outcome }) => outcome),
			codes: () => logged.map(([, code]) => code),
			events: result.answer.answer.events,
			cancel: result.cancel,
		};
	}

	/** The outcomes of a stream that is read to its end, and how the reader sees the end. */
	async function outcomeOf(source: UnderlyingSource<Uint8Array>): Promise<[string[], unknown]> {
		const { events, outcomes } = await metered(source);
		const reader = events.getReader();
		const end = await (async () => {
			while (!(await reader.read()).done);
			return "done";
		})().catch((error: unknown) => error);
		return [outcomes(), end];
	}

	const failing = (error: AiError) => ({ pull: () => Promise.reject(error) });

	it.each([
		["completes", undefined, "ok", []],
		["breaks", new AiError("executionFailed"), "interrupted", [5001]],
		["has lost its caller", new AiError("aborted"), "cancelled", [3008]],
	])(
		"of a pass-through that %s ends with it, and has its first byte at the beginning",
		async (_, failure, outcome, codes) => {
			let now = 0;
			const { exchange, settled, logged } = observedExchange({ model, admission: {}, now: () => now });
			const ended = Promise.withResolvers<AiError | undefined>();
			const progress = { usage: counts, outputTokens: 2 };
			let cancelled: unknown;
			const events = new ReadableStream<Uint8Array>({
				cancel: (reason) => {
					cancelled = reason;
				},
			});
			const stream = { kind: "stream", events, progress, ended: ended.promise } as const;
			const served = { backend: "a", model: "m", attempts: 1, wasted: [] };
			now = 30;
			const dispatched = { call, answer: { task: "text-generation", answer: stream }, served } as const;
			const { cancel } = await meter(exchange, dispatched, model as Model, TIMERS);
			now = 100;
			ended.resolve(failure);
			await ended.promise;
			expect(settled).toMatchObject([{ outcome, firstTokenMs: 30, latencyMs: 100 }]);
			expect(logged.map(([, code]) => code)).toEqual(codes);
			const reason = new AiError("aborted");
			cancel(reason);
			expect(cancelled).toBe(reason);
		},
	);

	it("has its first byte with its first piece", async () => {
		let now = 0;
		const { exchange, settled } = observedExchange({ model, admission: {}, now: () => now });
		const source = new ReadableStream<Uint8Array>(
			{
				pull(controller) {
					now += 40;
					if (now > 80) controller.close();
					else controller.enqueue(new TextEncoder().encode(delta("a")));
				},
			},
			{ highWaterMark: 0 },
		);
		const answer = { kind: "stream", events: source, progress: { usage: counts, outputTokens: 2 } } as const;
		const served = { backend: "a", model: "m", attempts: 1, wasted: [] };
		const dispatched = { call, answer: { task: "text-generation", answer }, served } as const;
		const metered = await meter(exchange, dispatched, model as Model, TIMERS);
		if (metered.answer.answer.kind === "stream") await new Response(metered.answer.answer.events).text();
		expect(settled).toMatchObject([{ outcome: "ok", firstTokenMs: 40, latencyMs: 120 }]);
	});

	it("has the outcome, once", async () => {
		expect(await outcomeOf({ start: (controller) => controller.close() })).toEqual([["ok"], "done"]);
		const failure = new AiError("executionFailed");
		expect(await outcomeOf(failing(failure))).toEqual([["interrupted"], failure]);
	});

	it.each([
		["the caller leaves, without a reason", undefined, "cancelled", []],
		["the caller leaves, by a signal", new AiError("aborted"), "cancelled", []],
		["the runtime drops the caller", new Error("network connection lost"), "cancelled", []],
		["a later stage fails", new AiError("executionFailed"), "interrupted", [5001]],
	])("settles a cancelled stream at once, without a pull: %s", async (_, reason, outcome, codes) => {
		let cancelled: unknown = "not cancelled";
		const {
			events,
			outcomes,
			codes: loggedCodes,
		} = await metered({
			pull: (controller) => controller.enqueue(new TextEncoder().encode(delta("a"))),
			cancel: (given) => {
				cancelled = given;
			},
		});
		const reader = events.getReader();
		await reader.read();
		await reader.cancel(reason);
		expect(outcomes()).toEqual([outcome]);
		expect(loggedCodes()).toEqual(codes);
		expect(cancelled).not.toBe("not cancelled");
	});

	it("settles an answer that is cancelled from outside, and rejects the pull that is under way", async () => {
		let cancelled: unknown = "not cancelled";
		const { events, outcomes, cancel } = await metered({
			pull: () => new Promise(() => {}),
			cancel: (given) => {
				cancelled = given;
			},
		});
		const reading = events.getReader().read();
		const reason = new AiError("aborted");
		cancel(reason);
		await expect(reading).rejects.toBe(reason);
		expect(outcomes()).toEqual(["cancelled"]);
		expect(cancelled).toBe(reason);
	});

	it("settles once where the answer is over before a later stage fails", async () => {
		const {
			events,
			outcomes,
			codes: loggedCodes,
		} = await metered({ start: (controller) => controller.close() });
		const reader = events.getReader();
		await reader.read();
		await reader.cancel(new AiError("executionFailed"));
		expect(outcomes()).toEqual(["ok"]);
		expect(loggedCodes()).toEqual([]);
	});

	it("bills beside the answer what a hedge lost, and not what a failover repeated", async () => {
		const bills: number[] = [];
		const lost = (why: string) => ({
			why,
			backend: "b",
			model: "m",
			progress: { usage: counts, outputTokens: 0 },
		});
		const billOf = async (...wasted: unknown[]) => {
			const { exchange, settled } = observedExchange({ model, admission: {} });
			const served = { backend: "a", model: "m", attempts: 2, wasted } as Served;
			const answer = {
				kind: "value",
				output: { ...completion("Hi"), usage: counts } as ChatCompletion,
			} as const;
			const dispatched = { call, answer: { task: "text-generation", answer }, served } as const;
			const { neurons } = await meter(exchange, dispatched, model as Model, TIMERS);
			bills.push(...settled.map(({ microNeurons }) => microNeurons));
			return neurons;
		};
		// Three input tokens at 26,668 neurons a million, two output tokens at 204,805; hundredths are cut off.
		expect(await billOf()).toBe(0.48);
		expect(await billOf(lost("cut"))).toBe(0.48);
		expect(await billOf(lost("hedge"))).toBe(0.97);
		expect(await billOf(lost("cut"), lost("hedge"))).toBe(0.97);
		expect(bills).toEqual([489_614, 489_614, 979_228, 979_228]);
	});

	it("bills nothing for an answer that another request pays for", async () => {
		const { exchange, settled } = observedExchange({ model, admission: {} });
		const served: Served = { backend: "a", model: "m", attempts: 1, wasted: [], shared: true };
		const output = { ...completion("Hi"), usage: counts } as ChatCompletion;
		const answer = { task: "text-generation", answer: { kind: "value", output } } as const;
		const dispatched = { call, answer, served };
		const { neurons } = await meter(exchange, dispatched, model as Model, TIMERS);
		expect(neurons).toBe(0);
		expect(settled.map(({ microNeurons, estimated }) => [microNeurons, estimated])).toEqual([[0, false]]);
	});

	it("shows the price of a request beside that of tokens, and none without prices", async () => {
		const [input] = (model as Model).prices;
		if (!input) throw new Error("no price");
		const request = { unit: "per inference request", neurons: 2, usd: 0 } as const;
		const costWith = async (prices: Model["prices"]) => {
			const priced = { ...(model as Model), prices };
			const { exchange } = observedExchange({ model: priced, admission: {} });
			const events = new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
			const progress = { usage: undefined, outputTokens: 0 };
			const answer = { task: "text-generation", answer: { kind: "stream", events, progress } } as const;
			const served: Served = { backend: "a", model: "m", attempts: 1, wasted: [] };
			const { withCost } = await meter(exchange, { call, answer, served }, priced, TIMERS);
			return withCost(counts);
		};
		expect(await costWith([request])).toEqual({ ...counts, neurons: 2 });
		expect(await costWith([input, request])).toEqual({ ...counts, neurons: 2.08 });
		expect(await costWith([])).toEqual(counts);
	});

	it("cancels an answer that has no reader, and ignores how its source ends", async () => {
		const { outcomes, cancel } = await metered({ cancel: () => Promise.reject(new Error("gone")) });
		cancel(new AiError("aborted"));
		await scheduler.wait(0);
		expect(outcomes()).toEqual(["cancelled"]);
	});

	it("rejects a pull with the reason of the cancel, although its source fails", async () => {
		const { exchange } = observedExchange({ model, admission: {} });
		const pulled = Promise.withResolvers<never>();
		const events = new EventStream({
			pull: () => pulled.promise,
			cancel: async () => pulled.reject(new Error("source failed")),
		});
		const answer = { kind: "stream", events, progress: { usage: undefined, outputTokens: 3 } } as const;
		const served = { backend: "a", model: "m", attempts: 1, wasted: [] };
		const dispatched = { call, answer: { task: "text-generation", answer }, served } as const;
		const result = await meter(exchange, dispatched, model as Model, TIMERS);
		if (result.answer.answer.kind !== "stream") throw new Error("no stream");
		const reading = result.answer.answer.events.getReader().read();
		const reason = new AiError("aborted");
		result.cancel(reason);
		await expect(reading).rejects.toBe(reason);
	});

	it("shows the price of cached tokens, where the model has one", async () => {
		const cached = new Catalog().find("@cf/deepseek-ai/deepseek-v4-flash-0731");
		if (!cached) throw new Error("no model");
		const { exchange } = observedExchange({ model: cached, admission: {} });
		const events = new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
		const progress = { usage: undefined, outputTokens: 0 };
		const answer = { task: "text-generation", answer: { kind: "stream", events, progress } } as const;
		const served: Served = { backend: "a", model: "m", attempts: 1, wasted: [] };
		const { withCost } = await meter(exchange, { call, answer, served }, cached, TIMERS);
		// A million tokens: input 40,000 neurons, cached input 1,273, output 120,000.
		const many = { prompt_tokens: 300, completion_tokens: 200, total_tokens: 500 };
		expect(withCost(many).neurons).toBe(36);
		expect(withCost({ ...many, prompt_tokens_details: { cached_tokens: 200 } }).neurons).toBe(28.25);
		expect(withCost({ prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 }).neurons).toBe(0.04);
	});

	it("is cancelled if the caller's signal fires", async () => {
		const failure = new AiError("aborted");
		expect(await outcomeOf(failing(failure))).toEqual([["cancelled"], failure]);
	});
});

describe("the exchange of a live session", () => {
	const model = new Catalog().find("@cf/deepgram/flux");
	if (!model) throw new Error("no model");
	const word = (end: number): TranscriptionEvent => ({
		kind: "segment",
		is_final: true,
		speech_final: false,
		from_finalize: false,
		start: 0,
		end,
		transcript: "word",
		words: [],
	});

	/** Micro-neurons of a session with these events, and whether they are an estimate. */
	async function billOf(
		events: readonly TranscriptionEvent[],
		{ toTheEnd = false, sentSeconds = 0, channels = 1, fails = false } = {},
	) {
		const { exchange, settled } = observedExchange({ model, admission: { holdMs: 60_000 } });
		const call: TaskCall = {
			task: "live-transcription",
			input: {
				...(sentSeconds > 0 && { samples: { encoding: "linear16", sample_rate: 16_000, channels } }),
				division: { kind: "segments", interim_results: false, vad_events: false },
			},
		};
		const readable = new ReadableStream<TranscriptionEvent>({
			start: (controller) => {
				for (const event of events) controller.enqueue(event);
				if (!fails) controller.close();
			},
			pull(controller) {
				if (fails) controller.error(new AiError("upstreamUnavailable"));
			},
		});
		const output = { readable, writable: new WritableStream() };
		const served: Served = { backend: "a", model: "m", attempts: 1, wasted: [] };
		const dispatched = {
			call,
			answer: { task: "live-transcription", answer: { kind: "value", output } },
			served,
		} as const;
		const { answer } = await meter(exchange, dispatched, model as Model, TIMERS);
		if (answer.task !== "live-transcription" || answer.answer.kind !== "value") throw new Error("no session");
		const reader = answer.answer.output.readable.getReader();
		const audio = { kind: "audio", bytes: new Uint8Array(sentSeconds * channels * 32_000) } as const;
		if (sentSeconds > 0) await answer.answer.output.writable.getWriter().write(audio);
		for (const _ of events) await reader.read();
		if (fails) await reader.read().catch(() => {});
		else if (toTheEnd) await reader.read();
		else await reader.cancel();
		return settled.map(({ microNeurons, estimated }) => [microNeurons, estimated]);
	}

	// 700 neurons a minute.
	it("bills a session that its caller ends by all audio that was sent, also before the first transcript", async () => {
		expect(await billOf([], { sentSeconds: 6 })).toEqual([[70_000_000, true]]);
		expect(await billOf([word(3)], { sentSeconds: 6 })).toEqual([[70_000_000, true]]);
		expect(await billOf([word(3)], { sentSeconds: 6, channels: 2 })).toEqual([[140_000_000, true]]);
	});

	it("bills a session whose engine fails by its last transcript, for each channel", async () => {
		expect(await billOf([word(3)], { sentSeconds: 6, fails: true })).toEqual([[35_000_000, true]]);
		expect(await billOf([word(3)], { sentSeconds: 6, channels: 2, fails: true })).toEqual([
			[70_000_000, true],
		]);
	});

	it("bills a cancelled session whose audio has no known length by its last transcript, as an estimate", async () => {
		expect(await billOf([word(0.5)])).toEqual([[5_833_333, true]]);
		expect(await billOf([word(6), word(3)])).toEqual([[70_000_000, true]]);
		expect(await billOf([word(6), { kind: "speech-started", timestamp: 9 }])).toEqual([[70_000_000, true]]);
		expect(await billOf([])).toEqual([[0, true]]);
	});

	it("bills a finished session by the audio of all channels", async () => {
		const ended = { kind: "ended", duration: 6, channels: 2 } as const;
		expect(await billOf([word(0.5), ended], { toTheEnd: true })).toEqual([[140_000_000, false]]);
	});
});
