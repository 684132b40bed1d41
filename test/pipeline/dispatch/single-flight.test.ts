import { describe, expect, it } from "vitest";
import { SingleFlight } from "../../../src/pipeline/dispatch/single-flight.ts";

/** A clock that the test moves; who waits is woken by it. */
function world() {
	const clock = { now: 0 };
	const sleepers = new Set<() => void>();
	return {
		clock,
		now: () => clock.now,
		waitUntil: () => {},
		wait: (ms: number, signal?: AbortSignal) =>
			new Promise<void>((resolve, reject) => {
				const at = clock.now + ms;
				const wake = () => {
					if (clock.now < at) return;
					sleepers.delete(wake);
					resolve();
				};
				sleepers.add(wake);
				signal?.addEventListener("abort", () => {
					sleepers.delete(wake);
					reject(signal.reason);
				});
			}),
		async pass(ms: number) {
			for (let i = 0; i < ms; i += 1000) {
				clock.now += 1000;
				for (const wake of [...sleepers]) wake();
				await settle();
			}
		},
		sleepers,
	};
}
const settle = () => new Promise((resolve) => setTimeout(resolve));

/** Work that the test ends. */
function work() {
	const calls: { signal: AbortSignal; end(value: string): void; fail(error: unknown): void }[] = [];
	return {
		calls,
		start: (signal: AbortSignal) =>
			new Promise<string>((resolve, reject) => {
				calls.push({ signal, end: resolve, fail: reject });
				signal.addEventListener("abort", () => reject(new Error("stopped")));
			}),
	};
}
const never = new AbortController().signal;

describe("SingleFlight", () => {
	it("does the work once for identical requests; one of them owns the value", async () => {
		const flights = new SingleFlight<string>();
		const [{ calls, start }, time] = [work(), world()];
		const all = [1, 2, 3].map(() => flights.join("k", never, time, start));
		expect(calls).toHaveLength(1);
		calls[0]?.end("v");
		expect(await Promise.all(all)).toEqual([
			{ value: "v", owner: true },
			{ value: "v", owner: false },
			{ value: "v", owner: false },
		]);
		expect(flights.size).toBe(0);
		expect(time.sleepers.size).toBe(0);
	});

	it("does the work again for later requests, and separately for other keys", async () => {
		const flights = new SingleFlight<string>();
		const [{ calls, start }, time] = [work(), world()];
		const first = flights.join("k", never, time, start);
		void flights.join("other", never, time, start);
		calls[0]?.end("v");
		await first;
		void flights.join("k", never, time, start);
		expect(calls).toHaveLength(3);
	});

	it("rejects all requests with the failure", async () => {
		const flights = new SingleFlight<string>();
		const [{ calls, start }, time] = [work(), world()];
		const all = [1, 2].map(() => flights.join("k", never, time, start).catch((error) => error));
		const failure = new Error("no");
		calls[0]?.fail(failure);
		expect(await Promise.all(all)).toEqual([failure, failure]);
		expect(flights.size).toBe(0);
	});

	it("lets each request cancel, the first too; a remaining one owns the value", async () => {
		const flights = new SingleFlight<string>();
		const [{ calls, start }, time] = [work(), world()];
		const leaving = new AbortController();
		const first = flights.join("k", leaving.signal, time, start).catch((error) => error);
		const second = flights.join("k", never, time, start);
		leaving.abort();
		expect(await first).toMatchObject({ key: "aborted" });
		expect(calls[0]?.signal.aborted).toBe(false);
		calls[0]?.end("v");
		expect(await second).toEqual({ value: "v", owner: true });
	});

	it("stops the work when all have cancelled; a later request starts it again", async () => {
		const flights = new SingleFlight<string>();
		const [{ calls, start }, time] = [work(), world()];
		const leaving = new AbortController();
		const all = [1, 2].map(() => flights.join("k", leaving.signal, time, start).catch((error) => error));
		leaving.abort();
		await Promise.all(all);
		const next = flights.join("k", never, time, start);
		await settle();
		expect(calls.map(({ signal }) => signal.aborted)).toEqual([true, false]);
		calls[1]?.end("w");
		expect(await next).toEqual({ value: "w", owner: true });
	});

	it("starts the work again for a later request, although the stopped work has not ended", async () => {
		const flights = new SingleFlight<string>();
		const time = world();
		const signals: AbortSignal[] = [];
		const start = (signal: AbortSignal) => {
			signals.push(signal);
			return new Promise<string>(() => {});
		};
		const leaving = new AbortController();
		const first = flights.join("k", leaving.signal, time, start).catch((error) => error);
		leaving.abort();
		expect(await first).toMatchObject({ key: "aborted" });
		expect(flights.size).toBe(0);
		void flights.join("k", never, time, start);
		expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
	});

	it("has the others do it themselves, once, when the request that works may have ended", async () => {
		const flights = new SingleFlight<string>();
		const [{ calls, start }, time] = [work(), world()];
		const leaving = new AbortController();
		const first = flights.join("k", leaving.signal, time, start).catch((error) => error);
		const others = [1, 2].map(() => flights.join("k", never, time, start));
		await time.pass(60_000);
		expect(calls).toHaveLength(1);
		leaving.abort();
		await first;
		await time.pass(19_000);
		expect(calls).toHaveLength(1);
		await time.pass(2_000);
		expect(calls.map(({ signal }) => signal.aborted)).toEqual([true, false]);
		calls[1]?.end("v");
		expect((await Promise.all(others)).map(({ value }) => value)).toEqual(["v", "v"]);
	});

	it("continues when a waiting request cancels", async () => {
		const flights = new SingleFlight<string>();
		const [{ calls, start }, time] = [work(), world()];
		const leaving = new AbortController();
		const first = flights.join("k", never, time, start);
		const second = flights.join("k", leaving.signal, time, start).catch((error) => error);
		leaving.abort();
		expect(await second).toMatchObject({ key: "aborted" });
		const third = flights.join("k", never, time, start);
		await time.pass(60_000);
		expect(calls).toHaveLength(1);
		calls[0]?.end("v");
		expect(await Promise.all([first, third])).toEqual([
			{ value: "v", owner: true },
			{ value: "v", owner: false },
		]);
	});

	it("rejects a request that is cancelled already", async () => {
		const { calls, start } = work();
		await expect(new SingleFlight().join("k", AbortSignal.abort(), world(), start)).rejects.toMatchObject({
			key: "aborted",
		});
		expect(calls).toHaveLength(0);
	});
});
