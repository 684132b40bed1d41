/**
 * The faults of providers, one by one, each on real sockets: what the caller had of it and what each provider saw.
 * Seconds are compressed by configured timeouts, except where a provider names them.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type FaultGateway, startGateway } from "../faults/gateway.ts";
import {
	answer,
	continuation,
	hang,
	late,
	lateToken,
	malformed,
	onlyComments,
	Provider,
	refusingPartial,
	reset,
	type Script,
	status,
	talkative,
	WORDS,
	withoutDone,
	words,
} from "../faults/provider.ts";

const WHOLE = WORDS.join("");
const BEGUN = WORDS.slice(0, 40).join("");
const BOTH = [{ backend: "a" }, { backend: "b" }];
/** The gateway's own limits of silence, before the header and amid a stream. A test's are far below. */
const DEFAULT_MS = 60_000;
/** So late that a busy machine is faster. */
const LATE_MS = 20_000;
const FAST = { retries: { base_ms: 10, max_ms: 3_000 } };

let gateway: FaultGateway;
const a = new Provider("a");
const b = new Provider("b");
const providers = [a, b];
const board: string[] = [];

beforeAll(async () => {
	await Promise.all(providers.map((provider) => provider.listen()));
	gateway = await startGateway();
});
beforeEach(() => {
	a.does(hang);
	b.does(answer());
});
afterEach(({ task }) => {
	const [id] = /^S\d\d/.exec(task.name) ?? [];
	if (id) board.push(`${id} ${task.result?.state === "fail" ? "FAIL" : "pass"}  ${task.name.slice(4)}`);
	// Nobody is left behind, whatever happened.
	expect(providers.map(({ running }) => running)).toEqual([0, 0]);
});
afterAll(async () => {
	await gateway?.stop();
	for (const provider of providers) provider.stop();
	const passed = board.filter((line) => line.includes(" pass ")).length;
	console.log(`${board.join("\n")}\n${passed} of ${board.length}`);
});

/** The route `a` then `b`, with settings; `first` is what `a` does. */
async function facing(first: [Script, ...Script[]], settings: object = {}, targets: object[] = BOTH) {
	a.does(...first);
	await gateway.configure({ targets, ...FAST, ...settings }, providers);
}

const whole = { status: 200, text: WHOLE, done: true, errors: [] };
const byFallback = { backend: "b", outcome: "ok", input_tokens: 5, output_tokens: 60 };

describe("the sixteen faults", () => {
	it("S01 429 with Retry-After 2: waits as long, asks again, answers", async () => {
		await facing([status(429, {}, { "retry-after": "2" }), answer()]);
		const reply = await gateway.ask();
		expect(reply).toMatchObject(whole);
		expect(a.calls).toHaveLength(2);
		expect(a.gaps[0]).toBeGreaterThanOrEqual(2_000);
		expect(a.gaps[0]).toBeLessThan(20_000);
		expect(b.calls).toHaveLength(0);
		expect(await gateway.billed()).toMatchObject({ ...byFallback, backend: "a", attempts: 2 });
	});

	it("S02 429 for ever: a bounded number of calls, then the fallback; alone, an honest 429", async () => {
		await facing([status(429)]);
		expect(await gateway.ask()).toMatchObject(whole);
		expect([a.calls.length, b.calls.length]).toEqual([2, 1]);
		expect(await gateway.billed()).toMatchObject({ ...byFallback, attempts: 3 });

		await facing([status(429, {}, { "retry-after": "30" })], {}, [{ backend: "a" }]);
		const alone = await gateway.ask();
		expect(alone).toMatchObject({ status: 429, errors: [{ code: 3040 }] });
		expect(alone.headers.get("retry-after")).toBe("30");
		expect(a.calls).toHaveLength(1);
		expect(await gateway.billed()).toMatchObject({ outcome: "failed", output_tokens: 0 });
	});

	it("S03 one 500: asked again, answered by the same provider", async () => {
		await facing([status(500), answer()]);
		expect(await gateway.ask()).toMatchObject(whole);
		expect([a.calls.length, b.calls.length]).toEqual([2, 0]);
		expect(await gateway.billed()).toMatchObject({ backend: "a", attempts: 2, output_tokens: 60 });
	});

	it("S04 503 for ever: the fallback answers, and the provider is left in peace after five failures", async () => {
		await facing([status(503)]);
		let callsBefore = 0;
		for (let request = 0; request < 8; request++) {
			callsBefore = a.calls.length;
			expect(await gateway.ask()).toMatchObject(whole);
		}
		// After five, only a probe: on a machine so busy that a cooldown ends meanwhile.
		expect(a.calls.length).toBeGreaterThanOrEqual(5);
		for (const [i, gap] of a.gaps.slice(4).entries())
			expect(gap).toBeGreaterThanOrEqual([5_000, 10_000][i] ?? 20_000);
		expect(b.calls).toHaveLength(8);
		const attempts = a.calls.length - callsBefore + 1;
		expect(await gateway.billed()).toMatchObject({ ...byFallback, attempts });
	});

	it("S05 reset before the header: asked again, then the fallback", async () => {
		await facing([reset]);
		expect(await gateway.ask()).toMatchObject(whole);
		expect([a.calls.length, b.calls.length]).toEqual([2, 1]);
		expect(await gateway.billed()).toMatchObject(byFallback);
	});

	it("S06 accepts and never answers: cancelled after the header's time, called once", async () => {
		await facing([hang], { timeouts: { header_ms: 1_000 } });
		const reply = await gateway.ask();
		expect(reply).toMatchObject(whole);
		expect(reply.ms).toBeGreaterThanOrEqual(1_000);
		expect(reply.ms).toBeLessThan(DEFAULT_MS);
		expect(a.calls).toHaveLength(1);
		await a.calls[0]?.closed;
		expect(a.calls[0]?.cancelled).toBe(true);
		expect(b.calls).toHaveLength(1);
		expect(await gateway.billed()).toMatchObject(byFallback);
	});

	it("S07 first token late: waited for; or asked for elsewhere, by its own time or by a hedge", async () => {
		await facing([lateToken(1_000)]);
		const reply = await gateway.ask();
		expect(reply).toMatchObject(whole);
		expect([a.calls.length, b.calls.length]).toEqual([1, 0]);

		for (const settings of [{ timeouts: { first_token_ms: 1_000 } }, { hedge_ms: 200 }]) {
			b.does(answer());
			await facing([lateToken(LATE_MS)], settings);
			const sooner = await gateway.ask();
			expect(sooner).toMatchObject(whole);
			expect(sooner.ms).toBeLessThan(LATE_MS);
			expect(sooner.headers.get("x-ganglion-backend")).toBe("b");
			await a.calls[0]?.closed;
			expect(a.calls.map(({ cancelled, tokens }) => [cancelled, tokens])).toEqual([[true, 0]]);
			expect(await gateway.billed()).toMatchObject({ ...byFallback, attempts: 2 });
		}
	});

	it("S08 cut after 40 of 60 tokens: the caller has all 60, once", async () => {
		await facing([words(40, reset)]);
		const reply = await gateway.ask();
		expect(reply).toMatchObject({ ...whole, ids: 1 });
		expect(reply.comments).toEqual(["ganglion backend=b attempts=2"]);
		expect([a.calls.length, b.calls.length]).toEqual([1, 1]);
		expect(b.calls[0]?.body.seed).toBe(7);
		expect(await gateway.billed()).toMatchObject({ ...byFallback, attempts: 2 });

		b.does(continuation);
		await facing([words(40, reset)], {}, [{ backend: "a" }, { backend: "b", continues: true }]);
		const continued = await gateway.ask();
		expect(continued).toMatchObject({ ...whole, ids: 1 });
		expect(b.calls.map(({ tokens }) => tokens)).toEqual([20]);
		expect(await gateway.billed()).toMatchObject({ backend: "b", input_tokens: 5, output_tokens: 60 });
	});

	it("S09 stalls mid-stream: cancelled after the idle time, and the caller has all 60", async () => {
		await facing([words(40, hang)], { timeouts: { idle_ms: 1_000 } });
		const reply = await gateway.ask();
		expect(reply).toMatchObject({ ...whole, ids: 1 });
		expect(reply.ms).toBeLessThan(DEFAULT_MS);
		await a.calls[0]?.closed;
		expect(a.calls.map(({ cancelled, tokens }) => [cancelled, tokens])).toEqual([[true, 40]]);
		expect(await gateway.billed()).toMatchObject(byFallback);
	});

	it("S10 a malformed chunk mid-stream: never reaches the caller, which has all 60", async () => {
		await facing([words(40, malformed)]);
		expect(await gateway.ask()).toMatchObject({ ...whole, ids: 1 });
		await a.calls[0]?.closed;
		expect(a.calls.map(({ cancelled }) => cancelled)).toEqual([true]);
		expect(b.calls).toHaveLength(1);
		expect(await gateway.billed()).toMatchObject(byFallback);
	});

	it("S11 complete but no [DONE]: an answer like any other", async () => {
		await facing([withoutDone]);
		const reply = await gateway.ask();
		expect(reply).toMatchObject({ ...whole, comments: [] });
		expect([a.calls.length, b.calls.length]).toEqual([1, 0]);
		expect(await gateway.billed()).toMatchObject({ backend: "a", attempts: 1, output_tokens: 60 });
	});

	it("S12 context overflow 400: the caller's error, so no other engine is called, and nothing billed", async () => {
		await facing([status(400, { code: "context_length_exceeded", type: "invalid_request_error" })]);
		const reply = await gateway.ask();
		expect([400, 413]).toContain(reply.status);
		expect(reply.errors).toHaveLength(1);
		expect([a.calls.length, b.calls.length]).toEqual([1, 0]);
		expect(await gateway.billed()).toMatchObject({ outcome: "failed", output_tokens: 0 });
	});

	it("S13 content filter 400: no other engine is called, and nothing billed", async () => {
		await facing([status(400, { code: "content_filter" })]);
		expect(await gateway.ask()).toMatchObject({ status: 400, errors: [{ code: 3030 }] });
		expect([a.calls.length, b.calls.length]).toEqual([1, 0]);
		expect(await gateway.billed()).toMatchObject({ outcome: "failed", output_tokens: 0 });
	});

	it("S14 cut, and the fallback refuses a partial message: asked whole; or one honest error", async () => {
		const targets = [{ backend: "a" }, { backend: "b", continues: true }];
		b.does(refusingPartial(answer()));
		await facing([words(40, reset)], {}, targets);
		expect(await gateway.ask()).toMatchObject({ ...whole, ids: 1 });
		expect(b.calls.map(({ tokens }) => tokens)).toEqual([0, 60]);
		expect(await gateway.billed()).toMatchObject({ ...byFallback, attempts: 3 });

		b.does(refusingPartial(answer(["Something ", "else."])));
		await facing([words(40, reset)], {}, targets);
		const broken = await gateway.ask();
		expect(broken).toMatchObject({ status: 200, text: BEGUN, done: false });
		expect(broken.errors).toHaveLength(1);
		expect(await gateway.billed()).toMatchObject({ outcome: "interrupted", output_tokens: 40 });
	});

	it("S15 a flap: back to the primary within 30 s of its recovery, and few calls until then", async () => {
		const FLAP_MS = 6_000;
		const start = performance.now();
		const down = () => performance.now() - start < FLAP_MS;
		await facing([(call) => (down() ? status(503)(call) : answer()(call))]);
		let back: number | undefined;
		while (back === undefined && performance.now() - start < FLAP_MS + 31_000) {
			const reply = await gateway.ask();
			expect(reply).toMatchObject(whole);
			if (reply.headers.get("x-ganglion-backend") === "a") back = performance.now() - start - FLAP_MS;
			await new Promise((resolve) => setTimeout(resolve, 100));
		}
		expect(back).toBeLessThan(30_000);
		expect(a.calls.length).toBeLessThanOrEqual(8);
	});

	it("S16 another answers: the answer names it and its usage", async () => {
		for (const stream of [true, false]) {
			b.does(answer(WORDS.slice(0, 7)));
			await facing([status(503)]);
			const reply = await gateway.ask({ stream });
			expect(reply).toMatchObject({ text: WORDS.slice(0, 7).join(""), done: true });
			expect(reply.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 7 });
			expect(reply.headers.get("x-ganglion-backend")).toBe("b");
			expect(reply.headers.get("x-ganglion-attempts")).toBe("3");
			expect(await gateway.billed()).toMatchObject({ backend: "b", attempts: 3, output_tokens: 7 });
		}
	});
});

describe("an engine that refuses with its own failure's status", () => {
	it.each([
		["llama.cpp, an image", 500, "image input is not supported - hint: if this is unexpected, pass --mmproj"],
		["llama.cpp, tools", 500, "tools param requires --jinja flag"],
		["llama.cpp, embeddings", 501, "This server does not support embeddings. Start it with `--embeddings`"],
	])("passes its sentence on and stays in use: %s", async (_, code, message) => {
		await facing([status(code, { message, type: "server_error", code })], {}, [{ backend: "a" }]);
		for (let request = 0; request < 8; request++) {
			const refused = await gateway.ask({ stream: request % 2 === 0 });
			expect(refused).toMatchObject({ status: 400, errors: [{ code: 8007 }] });
			expect(String(refused.errors[0]?.message)).toContain(message);
		}
		expect(a.calls).toHaveLength(8);
		// Five failures would have opened the circuit, and the fallback would answer.
		await facing([status(code, { message, type: "server_error", code })]);
		for (let request = 0; request < 8; request++) await gateway.ask();
		a.does(answer());
		const answered = await gateway.ask();
		expect(answered).toMatchObject(whole);
		expect(answered.headers.get("x-ganglion-backend")).toBe("a");
	});

	it("says that the input is too long, and stays in use: llama.cpp, a batch", async () => {
		const message = "input (12000 tokens) is too large to process. increase the physical batch size";
		await facing([status(500, { message, type: "server_error", code: 500 })], {}, [{ backend: "a" }]);
		for (let request = 0; request < 8; request++) {
			const refused = await gateway.ask({ stream: request % 2 === 0 });
			expect(refused).toMatchObject({ status: 413, errors: [{ code: 5021 }] });
		}
		expect(a.calls).toHaveLength(8);
	});
});

describe("an engine that sends comments alone", () => {
	it.each([
		["by the first token's time", { timeouts: { first_token_ms: 1_000 } }],
		["by a hedge", { hedge_ms: 200 }],
	])("is let go for the next, and none of its comments reaches the caller: %s", async (_, settings) => {
		b.does(answer());
		await facing([onlyComments], settings);
		const reply = await gateway.ask();
		expect(reply).toMatchObject(whole);
		expect(reply.comments).not.toContain("ka");
		expect(reply.headers.get("x-ganglion-backend")).toBe("b");
		await a.calls[0]?.closed;
		expect(a.calls[0]?.cancelled).toBe(true);
		expect(await gateway.billed()).toMatchObject(byFallback);
	});

	it.each([false, true])(
		"alone is an error, and no beginning of an answer: passthrough %j",
		async (passthrough) => {
			await facing([onlyComments], { timeouts: { first_token_ms: 1_000 }, passthrough }, [{ backend: "a" }]);
			const reply = await gateway.ask();
			expect(reply.status).toBe(408);
			expect(reply.errors).toMatchObject([{ code: 3007 }]);
			await a.calls[0]?.closed;
		},
	);
});

// Before the first byte, and while nothing is written, workerd by itself does not see that a caller has left: those
// phases are test/node/leaving.test.ts's.
describe("a caller that disconnects", () => {
	it.each([
		["the first", [talkative], "a"],
		["the next, which goes on", [words(0, reset)], "b"],
	] as const)("amid a stream of %s ends the provider's call", async (_, first, backend) => {
		b.does(talkative);
		await facing([...first]);
		const caller = new AbortController();
		const response = await gateway.open({ signal: caller.signal });
		await response.body?.getReader().read();
		caller.abort();
		const provider = backend === "a" ? a : b;
		await (await provider.called(1)).closed;
		expect(provider.calls[0]?.cancelled).toBe(true);
		expect(await gateway.billed()).toMatchObject({ outcome: "cancelled", backend });
	});
});

describe("identical requests that opt in", () => {
	const SHARED = { stream: false, headers: { "x-ganglion-single-flight": "1" } };

	it("are one call, billed once", async () => {
		await facing([late(300, answer())]);
		const reply = await Promise.all(Array.from({ length: 5 }, () => gateway.ask(SHARED)));
		for (const one of reply) expect(one).toMatchObject(whole);
		expect(a.calls).toHaveLength(1);
		expect(await gateway.billedTokens()).toBe(60);
		await gateway.ask({ ...SHARED, content: "Else" });
		await gateway.ask({ stream: false });
		expect(a.calls).toHaveLength(3);
	});

	it("do without the first, when its caller has left", async () => {
		await facing([late(600, answer())]);
		const first = new AbortController();
		const left = gateway.ask({ ...SHARED, signal: first.signal }).catch((error) => error.name);
		await a.called(1);
		const second = gateway.ask(SHARED);
		await new Promise((resolve) => setTimeout(resolve, 100));
		first.abort();
		expect(await left).toBe("AbortError");
		expect(await second).toMatchObject(whole);
		expect(a.calls).toHaveLength(1);
		expect(await gateway.billedTokens()).toBe(60);
	});
});
