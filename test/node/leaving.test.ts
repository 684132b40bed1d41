/** Callers who leave in every phase of a dispatch, over real sockets: no request is left running at any provider. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startNativeTimer } from "../../src/core/lazy-timer.ts";
import { IsolateHealth } from "../../src/fleet/health.ts";
import { adHocModel } from "../../src/models/catalog.ts";
import { SingleFlight } from "../../src/pipeline/dispatch/single-flight.ts";
import { dispatch } from "../../src/pipeline/dispatch.ts";
import type { Plan, PlannedTarget } from "../../src/pipeline/plan.ts";
import type { EngineAnswer } from "../../src/pipeline/request.ts";
import type { TaskCall } from "../../src/tasks/task.ts";
import { answer, hang, Provider, reset, type Script, status, words } from "../faults/provider.ts";
import { dispatchShared, observedExchange } from "../pipeline/exchanges.ts";

const a = new Provider("a");
const b = new Provider("b");
const providers = [a, b];
beforeAll(() => Promise.all(providers.map((provider) => provider.listen())));
beforeEach(() => b.does(hang));
afterEach(async () => {
	for (const { calls } of providers) for (const { closed } of calls) await closed;
	expect(providers.map(({ running }) => running)).toEqual([0, 0]);
});
afterAll(() => {
	for (const provider of providers) provider.stop();
});

const targetOf = ({ name, url }: Provider, timeouts: Partial<PlannedTarget["timeouts"]>): PlannedTarget => ({
	backend: name,
	kind: "openai",
	url,
	model: "m",
	headers: {},
	timeouts: { headerMs: 60_000, idleMs: 60_000, totalMs: 60_000, ...timeouts },
	circuit: "closed",
});

interface Asking {
	leave(): void;
	answered: Promise<EngineAnswer>;
}

function ask(
	first: [Script, ...Script[]] | undefined,
	{ plan = {}, timeouts = {}, stream = true, shared = new SingleFlight<EngineAnswer>() } = {},
): Asking {
	if (first) a.does(...first);
	const caller = new AbortController();
	const whole: Plan = {
		targets: [targetOf(a, timeouts), targetOf(b, {})],
		retries: { attempts: 2, baseMs: 1, maxMs: 60_000 },
		...plan,
	};
	const services = {
		fetch,
		now: Date.now,
		uuid: () => crypto.randomUUID(),
		random: () => 0,
		health: new IsolateHealth({ now: Date.now, waitUntil: () => {} }),
		flights: shared,
		waitUntil: (promise: Promise<unknown>) => void promise,
		startTimer: startNativeTimer,
		wait: (ms: number, signal?: AbortSignal) =>
			new Promise<void>((resolve, reject) => {
				const timer = setTimeout(resolve, ms);
				signal?.addEventListener("abort", () => {
					clearTimeout(timer);
					reject(signal.reason);
				});
			}),
	};
	const { signal } = caller;
	const call: TaskCall = {
		task: "text-generation",
		input: { messages: [{ role: "user", content: "Hi" }], stream },
	};
	const dispatchCall = (call: TaskCall, signal: AbortSignal) => {
		const { exchange } = observedExchange({ now: Date.now, admission: {} });
		return dispatch(whole, call, { exchange, model: adHocModel("m"), signal }, services);
	};
	const answered = stream
		? dispatchCall(call, signal)
		: dispatchShared("x", call, { services, signal, dispatch: dispatchCall });
	answered.catch(() => {});
	return { answered, leave: () => caller.abort() };
}

const aborted = { key: "aborted" };
const settle = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function readerOf({ answered }: Asking): Promise<ReadableStreamDefaultReader<Uint8Array>> {
	const { answer } = await answered;
	if (answer.answer.kind !== "stream") throw new Error("no stream");
	return answer.answer.events.getReader();
}

async function readAll(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<unknown> {
	try {
		while (!(await reader.read()).done);
		return undefined;
	} catch (error) {
		return error;
	}
}

describe("a caller that disconnects before the answer", () => {
	it("cancels a call that waits for its header", async () => {
		const { answered, leave } = ask([hang]);
		await a.called(1);
		leave();
		await expect(answered).rejects.toMatchObject(aborted);
		expect([a.calls.length, b.calls.length]).toEqual([1, 0]);
	});

	it("cancels a call that waits for its first event", async () => {
		const { answered, leave } = ask([words(0, hang)]);
		await a.called(1);
		await settle(50);
		leave();
		await expect(answered).rejects.toMatchObject(aborted);
	});

	it("cancels the wait before a retry", async () => {
		const { answered, leave } = ask([status(429, {}, { "retry-after": "30" }), answer()]);
		await a.called(1);
		await settle(50);
		leave();
		await expect(answered).rejects.toMatchObject(aborted);
		expect([a.calls.length, b.calls.length]).toEqual([1, 0]);
	});

	it("cancels both calls of a hedged request", async () => {
		const { answered, leave } = ask([hang], { plan: { hedgeMs: 20 } });
		await b.called(1);
		leave();
		await expect(answered).rejects.toMatchObject(aborted);
		await Promise.all(providers.flatMap(({ calls }) => calls.map(({ closed }) => closed)));
		expect(providers.flatMap(({ calls }) => calls.map(({ cancelled }) => cancelled))).not.toContain(false);
	});

	it("cancels the call of the fallback", async () => {
		const { answered, leave } = ask([status(404)]);
		await b.called(1);
		leave();
		await expect(answered).rejects.toMatchObject(aborted);
	});

	it("does not matter to a hedge: the slower call is cancelled at once", async () => {
		b.does(words(3, hang));
		const asking = ask([hang], { plan: { hedgeMs: 20 } });
		const reader = await readerOf(asking);
		await a.calls[0]?.closed;
		expect(a.calls[0]?.cancelled).toBe(true);
		await reader.cancel();
	});
});

describe.each(["leaves", "cancels"])("a caller that %s during the answer", (how) => {
	const go = async (asking: Asking, reader: ReadableStreamDefaultReader<Uint8Array>) => {
		if (how === "cancels") await reader.cancel();
		else asking.leave();
	};

	it("cancels a silent stream", async () => {
		const asking = ask([words(40, hang)]);
		const reader = await readerOf(asking);
		const read = readAll(reader);
		await settle(50);
		await go(asking, reader);
		expect(await read).toEqual(how === "leaves" ? expect.objectContaining(aborted) : undefined);
		expect([a.calls.length, b.calls.length]).toEqual([1, 0]);
	});

	it("cancels the call that continues a broken stream", async () => {
		const asking = ask([words(40, reset)]);
		const reader = await readerOf(asking);
		const read = readAll(reader);
		await b.called(1);
		await go(asking, reader);
		expect(await read).toEqual(how === "leaves" ? expect.objectContaining(aborted) : undefined);
	});

	it("cancels a call that repeats the delivered text", async () => {
		b.does(words(20, hang));
		const asking = ask([words(40, reset)]);
		const reader = await readerOf(asking);
		const read = readAll(reader);
		await b.called(1);
		await settle(50);
		await go(asking, reader);
		expect(await read).toEqual(how === "leaves" ? expect.objectContaining(aborted) : undefined);
		await b.calls[0]?.closed;
		expect(b.calls[0]?.cancelled).toBe(true);
	});
});

it("a shared call ends when its last caller disconnects", async () => {
	const shared = new SingleFlight<EngineAnswer>();
	const first = ask([hang], { stream: false, shared });
	// Whoever comes first asks: of two at once that would be chance.
	await a.called(1);
	const second = ask(undefined, { stream: false, shared });
	await settle(50);
	first.leave();
	await expect(first.answered).rejects.toMatchObject(aborted);
	await settle(50);
	expect(a.running).toBe(1);
	second.leave();
	await expect(second.answered).rejects.toMatchObject(aborted);
	await a.calls[0]?.closed;
	expect(a.calls.map(({ cancelled }) => cancelled)).toEqual([true]);
});
