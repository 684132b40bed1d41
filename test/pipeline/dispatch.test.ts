import { describe, expect, it } from "vitest";
import type { PlannedTarget } from "../../src/pipeline/plan.ts";
import type { TaskCall } from "../../src/tasks/task.ts";
import { drain, type Tap, tap } from "../backends/upstream.ts";
import { completion, delta, firstDelta, liveEvents } from "../gateway.ts";
import { CHAT, type Reply, silent, status, streamed, target, world } from "./dispatch/world.ts";

const ok: Reply = ({ engine }) => Response.json(completion(engine));
const RETRIES = { attempts: 3, baseMs: 100, maxMs: 5_000 };

/** A turn of the event loop lets everything settle that can. */
const settle = () => new Promise((resolve) => setTimeout(resolve));

describe("dispatch", () => {
	it("stops at the first that answers", async () => {
		const { engines, logged, run } = world({ replies: { a: ok, b: ok } });
		const { answer, served } = await run();
		expect(engines()).toEqual(["a"]);
		expect(logged).toEqual([]);
		expect(answer).toMatchObject({ task: "text-generation", answer: { kind: "value" } });
		expect(served).toEqual({ backend: "a", kind: "openai", model: "a-model", attempts: 1, wasted: [] });
	});

	it("continues after a failure that another target may not have, and records each", async () => {
		const replies = { a: status(503), b: status(404), c: status(500), d: ok };
		const { engines, logged, run } = world({ replies });
		expect((await run()).served).toEqual({
			backend: "d",
			kind: "openai",
			model: "d-model",
			attempts: 4,
			wasted: [],
		});
		expect(engines()).toEqual(["a", "b", "c", "d"]);
		expect(logged).toEqual([
			["id", 3040],
			["id", 5007],
			["id", 5001],
		]);
	});

	it("ends with the last failure if no target answers", async () => {
		const { logged, failure } = world({ replies: { a: status(500), b: status(429) } });
		expect(await failure()).toMatchObject({ code: 3040 });
		expect(logged).toEqual([
			["id", 5001],
			["id", 3040],
		]);
	});

	it("describes each failure, in their order, with the code of the last one", async () => {
		const words = () => Response.json({ error: { message: "my prompt was: secret" } }, { status: 501 });
		const { failure } = world({
			replies: { a: status(429), b: status(404), c: words, d: status(401), e: silent, f: status(500) },
			plan: { retries: { ...RETRIES, attempts: 2 } },
			targets: { e: { timeouts: { headerMs: 60_000, idleMs: 60_000, totalMs: 5 } } },
		});
		const error = await failure();
		expect(error).toMatchObject({ code: 5001, upstream: { backend: "f", status: 500 }, retryable: true });
		expect(error.description).toBe(
			"The backend 'f' failed with HTTP 500 (called in turn: a: 3040, HTTP 429, 2 calls; " +
				"b: 5007, has no model 'b-model'; c: 8007, HTTP 501; d: 7009, refused the gateway's credentials; " +
				"e: 3046, took longer than 5 ms; f: 5001, failed with HTTP 500, 2 calls)",
		);
	});

	it("describes targets that were passed over, and at most eight", async () => {
		const audio = { bytes: new Uint8Array(1) };
		const replies = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`e${i}`, ok]));
		const { description } = await world({ replies }).failure({ task: "turn-detection", input: { audio } });
		expect(description).toMatch(/ \(called in turn: e0: 5007, has no turn-detection; e1: .*; and 3 more\)$/);
		expect(description).toContain("e7");
		expect(description).not.toContain("e8");
	});

	it("describes a single target with its own failure only", async () => {
		const { failure } = world({ replies: { a: status(500) }, plan: { retries: RETRIES } });
		expect((await failure()).description).toBe("The backend 'a' failed with HTTP 500");
	});

	it("ends with what another time may mend, not with that the last one lacks the model", async () => {
		const { failure } = world({ replies: { a: status(429, { "retry-after": "60" }), b: status(404) } });
		expect(await failure()).toMatchObject({ code: 3040, retryAfter: 60 });
	});

	it.each([
		["a bad request", 400, 8007],
		["a request that is too large", 413, 3006],
		["an unprocessable one", 422, 8007],
	])("ends at once with %s", async (_, code, expected) => {
		const { engines, failure } = world({ replies: { a: status(code), b: ok }, plan: { retries: RETRIES } });
		expect(await failure()).toMatchObject({ code: expected });
		expect(engines()).toEqual(["a"]);
	});

	it("passes over targets that do not support the request, and refuses if none does", async () => {
		const input = {
			messages: [{ role: "user" as const, content: "Hi" }],
			stream: false,
			verbatim: {
				dialect: "anthropic" as const,
				body: { messages: [] },
				messages: 1,
				unconverted: "web_search",
			},
		};
		const call: TaskCall = { task: "text-generation", input };
		const reply = { type: "message", content: [{ type: "text", text: "Hello" }] };
		const { engines, run } = world({
			replies: { a: ok, b: () => Response.json(reply) },
			targets: { b: { kind: "anthropic", url: "http://b" } },
		});
		expect((await run(call)).served).toMatchObject({ backend: "b", attempts: 1 });
		expect(engines()).toEqual(["b"]);
		expect(await world({ replies: { a: ok } }).failure(call)).toMatchObject({
			code: 5007,
			description:
				"No such model m or task: backend 'a' (openai) does not support all of the request (web_search)",
		});
	});

	it("passes over engines without audio output if the request needs it, and refuses if none has it", async () => {
		const input = {
			messages: [{ role: "user" as const, content: "Hi" }],
			stream: false,
			passthrough: { modalities: ["text", "audio"], audio: { voice: "alloy", format: "wav" } },
		};
		const call: TaskCall = { task: "text-generation", input };
		const a = { kind: "ollama", url: "http://a" } as const;
		const { engines, run } = world({ replies: { a: ok, b: ok }, targets: { a } });
		expect((await run(call)).served).toMatchObject({ backend: "b", attempts: 1 });
		expect(engines()).toEqual(["b"]);
		for (const kind of ["simulator", "anthropic", "gemini", "ollama", "workers-ai", "cog"] as const) {
			const { engines, failure } = world({ replies: { a: ok }, targets: { a: { kind, url: "http://a" } } });
			expect(await failure(call)).toMatchObject({
				code: 8001,
				description: `Invalid input: modalities: backend 'a' (${kind}) does not generate audio`,
			});
			expect(engines()).toEqual([]);
		}
	});

	it("names the backend without the task, if all lack it", async () => {
		const audio = { bytes: new Uint8Array(1) };
		const { engines, failure } = world({ replies: { a: ok } });
		expect(await failure({ task: "turn-detection", input: { audio } })).toMatchObject({
			code: 5007,
			description: "No such model m or task: backend 'a' (openai) has no turn-detection",
		});
		expect(engines()).toEqual([]);
	});

	it("calls no target for a caller that has disconnected", async () => {
		const { caller, engines, failure } = world({ replies: { a: ok } });
		caller.abort();
		expect(await failure()).toMatchObject({ code: 3008 });
		expect(engines()).toEqual([]);
	});
});

describe("retries", () => {
	it("retries the same target after a pause that doubles, with full jitter", async () => {
		const { asked, waits, run } = world({
			replies: { a: [status(500), status(500), ok], b: ok },
			plan: { retries: RETRIES },
			random: 0.5,
		});
		expect((await run()).served).toMatchObject({ backend: "a", attempts: 3 });
		expect(waits.map(({ ms }) => ms)).toEqual([50, 100]);
		expect(asked.map(({ at }) => at)).toEqual([0, 50, 150]);
	});

	it("waits at least the engine's retry-after", async () => {
		const { asked, run } = world({
			replies: { a: [status(429, { "retry-after": "2" }), ok] },
			plan: { retries: RETRIES },
			random: 0.5,
		});
		await run();
		expect(asked.map(({ at }) => at)).toEqual([0, 2050]);
	});

	it("continues at once if that exceeds the longest pause, and passes it on if no target remains", async () => {
		const busy = status(503, { "retry-after": "6" });
		const two = world({ replies: { a: busy, b: ok }, plan: { retries: RETRIES } });
		expect((await two.run()).served).toMatchObject({ backend: "b", attempts: 2 });
		expect(two.waits).toEqual([]);
		const one = world({ replies: { a: busy }, plan: { retries: RETRIES } });
		expect(await one.failure()).toMatchObject({ code: 3040, retryAfter: 6 });
		expect(one.engines()).toEqual(["a"]);
	});

	it.each([
		["lacks the model", status(404)],
		["refuses the key", status(401)],
		["redirects", status(307, { location: "http://elsewhere/" })],
		["does not know the route", status(405)],
		["cannot do it", status(501)],
		["had its time", status(504)],
	])("does not ask an engine again that %s", async (_, reply) => {
		const { engines, run } = world({ replies: { a: reply, b: ok }, plan: { retries: RETRIES } });
		await run();
		expect(engines()).toEqual(["a", "b"]);
	});

	it("ends if the pause takes all of the remaining time", async () => {
		const { engines, waits, failure } = world({
			replies: { a: status(500) },
			plan: { totalMs: 100, retries: { attempts: 3, baseMs: 100, maxMs: 100 } },
			random: 1,
		});
		expect(await failure()).toMatchObject({ code: 5001 });
		expect(engines()).toEqual(["a"]);
		expect(waits).toEqual([]);
	});

	it.each([
		["is not made if the circuit opens during the pause", {}, ["a", "b"]],
		[
			"is made at the time that the engine names, also if the circuit opens",
			{ "retry-after": "1" },
			["a", "a"],
		],
	])("%s", async (_, headers, expected) => {
		const { engines, holdWaits, run, services, waits } = world({
			replies: { a: [status(503, headers), ok], b: ok },
			plan: { retries: RETRIES },
		});
		holdWaits();
		const answered = run();
		while (waits.length === 0) await settle();
		for (let failures = 0; failures < 5; failures++) services.health.start(target("a")).fail();
		waits[0]?.ring();
		await answered;
		expect(engines()).toEqual(expected);
	});

	it("does not retry a silent target", async () => {
		const { engines, run } = world({
			replies: { a: silent, b: ok },
			plan: { retries: RETRIES },
			targets: { a: { timeouts: { headerMs: 1000, idleMs: 1000, totalMs: 5 } } },
		});
		await run();
		expect(engines()).toEqual(["a", "b"]);
	});

	it("stops waiting when the caller leaves", async () => {
		const { caller, engines, failure, holdWaits, waits } = world({
			replies: { a: status(500), b: ok },
			plan: { retries: RETRIES },
		});
		holdWaits();
		const failed = failure();
		while (waits.length === 0) await settle();
		caller.abort();
		expect(await failed).toMatchObject({ code: 3008 });
		expect(engines()).toEqual(["a"]);
	});
});

describe("the time of a route", () => {
	it("bounds all calls together", async () => {
		const { asked, clock, failure } = world({
			replies: {
				a: () => {
					clock.now += 700;
					return new Response("", { status: 500 });
				},
			},
			plan: { totalMs: 1_000, retries: { attempts: 9, baseMs: 200, maxMs: 200 } },
			random: 1,
		});
		expect(await failure()).toMatchObject({ code: 5001 });
		expect(asked.map(({ at }) => at)).toEqual([0, 900]);
	});

	it("ends before the next target is called", async () => {
		const slow: Reply = () => {
			clock.now += 1_000;
			return new Response("", { status: 500 });
		};
		const { clock, engines, failure } = world({ replies: { a: slow, b: ok }, plan: { totalMs: 1_000 } });
		expect(await failure()).toMatchObject({
			code: 3046,
			description: "No engine answered within 1000 ms (called in turn: a: 5001, failed with HTTP 500)",
		});
		expect(engines()).toEqual(["a"]);
	});

	it.each([
		[999, ["a", "b"]],
		[1_000, ["a"]],
	])("calls another target if time is left: after %i of 1,000 ms", async (ms, called) => {
		const { clock, engines, run } = world({
			replies: {
				a: () => {
					clock.now += ms;
					return new Response("", { status: 503 });
				},
				b: ok,
			},
			plan: { totalMs: 1_000 },
		});
		await run().catch(() => {});
		expect(engines()).toEqual(called);
	});

	it("ends a call that would take longer", async () => {
		const { asked, failure } = world({ replies: { a: silent }, plan: { totalMs: 20 } });
		expect(await failure()).toMatchObject({ code: 3046 });
		expect(asked[0]?.signal.aborted).toBe(true);
	});
});

describe("circuits", () => {
	it("stop asking an engine that keeps failing, and start again with one probe", async () => {
		const down = { now: true };
		const { clock, engines, run, asked } = world({
			replies: { a: (one) => (down.now ? new Response("", { status: 503 }) : ok(one)), b: ok },
		});
		for (let i = 0; i < 10; i++) await run();
		expect(engines().filter((engine) => engine === "a")).toHaveLength(5);
		down.now = false;
		clock.now += 5_000;
		asked.length = 0;
		expect((await run()).served).toMatchObject({ backend: "a", attempts: 1 });
		expect((await run()).served).toMatchObject({ backend: "a", attempts: 1 });
	});

	it("stay closed if an answer is complete between the failures", async () => {
		const down = status(503);
		const { failure, run, services } = world({ replies: { a: [down, down, down, down, ok, down] } });
		const circuitAfter = async (failures: number): Promise<string> => {
			for (let i = 0; i < failures; i++) await failure();
			return services.health.circuit(target("a"));
		};
		expect(await circuitAfter(4)).toBe("closed");
		await run();
		expect(await circuitAfter(4)).toBe("closed");
		expect(await circuitAfter(1)).toBe("open");
	});

	it("let a second caller pass by while one probes", async () => {
		const { clock, run, services } = world({ replies: { a: ok, b: ok } });
		for (let i = 0; i < 5; i++) services.health.start(target("a")).fail();
		clock.now += 5_000;
		const [first, second] = await Promise.all([run(), run()]);
		expect([first.served.backend, second.served.backend]).toEqual(["a", "b"]);
	});

	it("close when the stream of the probe begins", async () => {
		const a = liveEvents();
		const { clock, run, services } = world({ replies: { a: () => a.response, b: ok } });
		for (let i = 0; i < 5; i++) services.health.start(target("a")).fail();
		clock.now += 5_000;
		const answered = run(streamed());
		a.send(delta("a"));
		const { answer, served } = await answered;
		expect(served.backend).toBe("a");
		expect(services.health.circuit(target("a"))).toBe("closed");
		if (answer.answer.kind === "stream") await answer.answer.events.cancel();
	});

	it("do not exclude all targets: the last one is called, once", async () => {
		const { engines, failure, services } = world({
			replies: { a: status(500) },
			plan: { retries: RETRIES },
		});
		for (let i = 0; i < 5; i++) services.health.start(target("a")).fail();
		expect(await failure()).toMatchObject({ code: 5001 });
		expect(engines()).toEqual(["a"]);
	});

	it("open for the time that an engine names", async () => {
		const { clock, failure, services } = world({ replies: { a: status(503, { "retry-after": "7" }) } });
		await failure();
		const circuitAfter = (ms: number): string => {
			clock.now += ms;
			return services.health.circuit(target("a"));
		};
		expect([circuitAfter(0), circuitAfter(6_999), circuitAfter(1)]).toEqual(["open", "open", "half-open"]);
	});

	it.each([400, 501])("stay closed after refusals with status %i", async (code) => {
		const { failure, services } = world({ replies: { a: status(code) } });
		for (let i = 0; i < 10; i++) await failure();
		expect(services.health.circuit(target("a"))).toBe("closed");
	});

	it("S15: an engine that was down for a minute is called again within 30 seconds of its return", async () => {
		const { clock, run } = world({
			replies: {
				a: (one) => (clock.now - 1_000_000 < 60_000 ? new Response("", { status: 503 }) : ok(one)),
				b: ok,
			},
		});
		let back: number | undefined;
		let asked = 0;
		for (let at = 0; at < 100_000; at += 250) {
			clock.now = 1_000_000 + at;
			const { served } = await run();
			if (at < 60_000) asked += served.attempts - 1;
			else if (served.backend === "a") back ??= at - 60_000;
		}
		expect(back).toBeLessThanOrEqual(30_000);
		// Five to open, and a probe at each rest's end: not 240.
		expect(asked).toBeLessThanOrEqual(10);
	});
});

describe("hedging", () => {
	const HEDGED = { hedgeMs: 200 };
	/** Answers when it is let. */
	const held = () => {
		const gate = Promise.withResolvers<void>();
		const reply: Reply = async (one) => {
			const left = new Promise<never>((_, reject) =>
				one.signal.addEventListener("abort", () => reject(new Error("aborted"))),
			);
			await Promise.race([gate.promise, left]);
			return ok(one);
		};
		return { reply, answer: () => gate.resolve() };
	};

	it("calls no second target if the first one starts in time", async () => {
		const a = held();
		const { engines, holdWaits, run, waits } = world({ replies: { a: a.reply, b: ok }, plan: HEDGED });
		holdWaits();
		const answered = run();
		await settle();
		a.answer();
		expect((await answered).served).toMatchObject({ backend: "a", attempts: 1 });
		expect(engines()).toEqual(["a"]);
		expect(waits.map(({ ms, signal }) => [ms, signal?.aborted])).toEqual([[200, true]]);
	});

	it("calls the second after the delay; the first to start wins and the other is cancelled", async () => {
		const { asked, run } = world({ replies: { a: silent, b: ok }, plan: HEDGED });
		expect((await run()).served).toEqual({
			backend: "b",
			kind: "openai",
			model: "b-model",
			attempts: 2,
			wasted: [],
		});
		expect(asked.map(({ engine, signal }) => [engine, signal.aborted])).toEqual([
			["a", true],
			["b", false],
		]);
	});

	it("lets the first win, too", async () => {
		const a = held();
		const { asked, run } = world({ replies: { a: a.reply, b: silent }, plan: HEDGED });
		const answered = run();
		while (asked.length < 2) await settle();
		a.answer();
		expect((await answered).served).toMatchObject({ backend: "a", attempts: 2 });
		expect(asked.map(({ signal }) => signal.aborted)).toEqual([false, true]);
	});

	it("does not wait for one that is deaf to being stopped", async () => {
		const a = held();
		const deaf: Reply = async (one) => {
			await new Promise((resolve) => one.signal.addEventListener("abort", resolve));
			return ok(one);
		};
		const { asked, run } = world({ replies: { a: a.reply, b: deaf }, plan: HEDGED });
		const answered = run();
		while (asked.length < 2) await settle();
		a.answer();
		const { served } = await answered;
		await settle();
		expect(served).toMatchObject({ backend: "a", attempts: 2, wasted: [] });
	});

	it("discards the second of two streams that begin in one tick", async () => {
		const a = liveEvents();
		const b = liveEvents();
		const { asked, run, services } = world({
			replies: { a: () => a.response, b: () => b.response },
			plan: HEDGED,
		});
		const answered = run(streamed());
		while (asked.length < 2) await settle();
		await settle();
		a.send(delta("from a"));
		b.send(delta("from b"));
		const { answer, served } = await answered;
		await b.cancelled;
		await settle();
		expect(served).toMatchObject({ backend: "a", attempts: 2 });
		// The engine has said one token, which its operator pays.
		expect(served.wasted).toEqual([
			{
				why: "hedge",
				backend: "b",
				model: "b-model",
				progress: expect.objectContaining({ usage: undefined, outputTokens: 1 }),
			},
		]);
		expect(asked.map(({ signal }) => signal.aborted)).toEqual([false, true]);
		expect(services.health.circuit(target("b"))).toBe("closed");
		if (answer.answer.kind !== "stream") throw new Error("no stream");
		await answer.answer.events.cancel();
		await a.cancelled;
	});

	it("bills the complete reply of the second of two that answer in one tick", async () => {
		const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
		const bodies = { a: tap(), b: tap() };
		const replyOf = ({ body }: Tap) =>
			new Response(body, { headers: { "content-type": "application/json" } });
		const { asked, run, services } = world({
			replies: { a: () => replyOf(bodies.a), b: () => replyOf(bodies.b) },
			plan: HEDGED,
		});
		const answered = run();
		while (asked.length < 2) await settle();
		await settle();
		for (const body of [bodies.a, bodies.b]) {
			body.push(JSON.stringify({ ...completion("Hi"), usage }));
			body.end();
		}
		const { served } = await answered;
		await settle();
		expect(served).toEqual({
			backend: "a",
			kind: "openai",
			model: "a-model",
			attempts: 2,
			wasted: [{ why: "hedge", backend: "b", model: "b-model", progress: { usage, outputTokens: 0 } }],
		});
		expect(services.health.circuit(target("b"))).toBe("closed");
	});

	it("ends with a refusal, and stops the other", async () => {
		const { asked, failure } = world({ replies: { a: silent, b: status(400) }, plan: HEDGED });
		expect(await failure()).toMatchObject({ code: 8007 });
		expect(asked[0]?.signal.aborted).toBe(true);
	});

	it("continues in the other attempt if one has no target left", async () => {
		const a = held();
		const { asked, run } = world({ replies: { a: a.reply, b: status(500) }, plan: HEDGED });
		const answered = run();
		while (asked.length < 2) await settle();
		a.answer();
		expect((await answered).served).toMatchObject({ backend: "a", attempts: 2 });
	});

	it("passes the stream of the last target as it is", async () => {
		const a = liveEvents();
		const { asked, run } = world({ replies: { a: () => a.response, b: status(500) }, plan: HEDGED });
		const answered = run(streamed());
		while (asked.length < 2) await settle();
		await settle();
		const begun = firstDelta("a");
		a.send(begun);
		const { answer } = await answered;
		if (answer.answer.kind !== "stream") throw new Error("no stream");
		a.end();
		expect(await drain(answer.answer.events)).toMatchObject({
			text: begun,
			error: { description: "The backend 'a' was cut off mid-answer" },
		});
	});

	it("hedges with none whose circuit is open", async () => {
		const a = held();
		const { engines, run, services } = world({ replies: { a: a.reply, b: ok }, plan: HEDGED });
		for (let i = 0; i < 5; i++) services.health.start(target("b")).fail();
		const answered = run();
		await settle();
		a.answer();
		expect((await answered).served).toMatchObject({ backend: "a", attempts: 1 });
		expect(engines()).toEqual(["a"]);
	});

	it("calls a target with an open circuit if there is no other", async () => {
		const { run, services } = world({ replies: { a: ok }, plan: HEDGED });
		for (let i = 0; i < 5; i++) services.health.start(target("a")).fail();
		expect(services.health.circuit(target("a"))).toBe("open");
		expect((await run()).served).toMatchObject({ backend: "a", attempts: 1 });
	});

	it("stops both when the caller leaves", async () => {
		const { asked, caller, failure, logged } = world({
			replies: { a: silent, b: silent },
			plan: HEDGED,
		});
		const failed = failure();
		while (asked.length < 2) await settle();
		caller.abort();
		expect(await failed).toMatchObject({ code: 3008 });
		// No engine has failed.
		await settle();
		expect(logged).toEqual([]);
		expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, true]);
	});

	it("ends with the failure if no target is left before the delay", async () => {
		const { engines, failure, holdWaits } = world({ replies: { a: status(500) }, plan: HEDGED });
		holdWaits();
		expect(await failure()).toMatchObject({ code: 5001, upstream: { backend: "a", status: 500 } });
		expect(engines()).toEqual(["a"]);
	});

	it("opens no second session", async () => {
		const call = {
			task: "live-transcription",
			input: { encoding: "linear16", sample_rate: 16000 },
		} as unknown as TaskCall;
		const { waits, failure } = world({ replies: { a: ok, b: ok }, plan: HEDGED });
		expect(await failure(call)).toMatchObject({ code: 5007 });
		expect(waits).toEqual([]);
	});
});

it("counts a call of each engine, not of each target it passes by", async () => {
	const { run } = world({ replies: { a: status(500), b: ok } });
	expect((await run(CHAT)).served.attempts).toBe(2);
});

describe("a stream that is passed through, with another target", () => {
	/** A byte stream of one event, which then ends, breaks, or stays open. */
	const passed =
		(end: "complete" | "broken" | "open"): Reply =>
		() => {
			const first = 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}\n\n';
			const last = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
			const body = new ReadableStream({
				type: "bytes",
				start(controller) {
					controller.enqueue(new TextEncoder().encode(first + (end === "complete" ? last : "")));
					if (end === "complete") controller.close();
				},
				pull(controller) {
					if (end === "broken") controller.error(new Error("connection reset"));
				},
			});
			return new Response(body, { headers: { "content-type": "text/event-stream" } });
		};
	const streamEnd = { onFailure: () => "data: failure\n\n" };

	/** The circuit of the engine after calls that end like this. */
	async function circuitAfter(...ends: ("complete" | "broken" | "open")[]): Promise<string> {
		const { runIn, services } = world({ replies: { a: ends.map(passed), b: ok } });
		for (const end of ends) {
			const { answer, served } = await runIn({ streamEnd }, streamed());
			expect(served.backend).toBe("a");
			if (answer.answer.kind !== "stream") throw new Error("no stream");
			const { ended, events } = answer.answer;
			if (!ended) throw new Error("not passed through");
			if (end === "open") await events.cancel();
			else await new Response(events).text();
			await ended;
			await settle();
		}
		return services.health.circuit(target("a"));
	}

	it("counts against the engine if it breaks", async () => {
		expect(await circuitAfter("broken", "broken", "broken", "broken", "broken")).toBe("open");
	});

	it("counts for the engine if it is complete", async () => {
		expect(await circuitAfter("broken", "broken", "complete", "broken", "broken")).toBe("closed");
	});
});

it("fails without targets", async () => {
	const { failure } = world({ replies: {}, plan: { targets: [] as unknown as [PlannedTarget] } });
	expect(await failure()).toMatchObject({ code: 5001 });
});

describe("the remaining time", () => {
	it("never exceeds the time in which the request can be settled", async () => {
		const { run } = world({ replies: { a: silent }, admission: { holdMs: 1_000 } });
		await expect(run()).rejects.toMatchObject({ code: 3046 });
	});

	it("is complete for the first call after the clock was set forward", async () => {
		const { clock, run, services } = world({ replies: { a: ok }, plan: { totalMs: 1_000 } });
		const { circuit } = services.health;
		services.health.circuit = (target) => {
			clock.now += 3_600_000;
			return circuit.call(services.health, target);
		};
		expect((await run()).answer.answer.kind).toBe("value");
	});

	it("does not grow when the clock is set back", async () => {
		const { clock, failure } = world({
			replies: {
				a: () => {
					clock.now -= 3_600_000;
					return new Response(null, { status: 503 });
				},
				b: silent,
			},
			plan: { totalMs: 1_000 },
		});
		expect(await failure()).toMatchObject({
			description: expect.stringContaining("took longer than 1000 ms"),
		});
	});
});
