import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { LazyTimers, startNativeTimer } from "../../src/core/lazy-timer.ts";

/** Not in the past: objects of other tests set their alarms by this clock, and the runtime would start those of the past at once. */
const START = Date.now() + 86_400_000;
const LONG_MS = 60_000;

beforeEach(() => {
	vi.useFakeTimers({ now: START });
});
afterEach(() => {
	vi.useRealTimers();
});

/** `fired`: the milliseconds after the start at which each timer fired. */
function lazyTimers(keepAlive: (promise: Promise<unknown>) => void = () => {}) {
	const fired: number[] = [];
	const timers = new LazyTimers({ keepAlive, now: () => Date.now() });
	const start = (milliseconds: number, left?: AbortSignal) =>
		timers.start(milliseconds, () => fired.push(Date.now() - START), left);
	return { fired, start };
}

it.each([5, 50, 9_999, 10_000, LONG_MS, 600_000])("fires once, after %d ms", async (milliseconds) => {
	const { fired, start } = lazyTimers();
	start(milliseconds);
	await vi.advanceTimersByTimeAsync(milliseconds - 1);
	expect(fired).toEqual([]);
	await vi.advanceTimersByTimeAsync(700_000);
	expect(fired).toEqual([milliseconds]);
});

it("is cancelled before and after the sweep", async () => {
	const { fired, start } = lazyTimers();
	start(LONG_MS).cancel();
	const later = start(LONG_MS);
	await vi.advanceTimersByTimeAsync(30_000);
	later.cancel();
	await vi.advanceTimersByTimeAsync(LONG_MS);
	expect(fired).toEqual([]);
	expect(vi.getTimerCount()).toBe(0);
});

it("ends with its caller: the sweep settles nothing of a context that may have ended", async () => {
	const { fired, start } = lazyTimers();
	const left = new AbortController();
	start(LONG_MS, left.signal);
	start(LONG_MS);
	left.abort();
	await vi.advanceTimersByTimeAsync(1_000);
	// The native timer of the second.
	expect(vi.getTimerCount()).toBe(1);
	await vi.advanceTimersByTimeAsync(LONG_MS);
	expect(fired).toEqual([LONG_MS]);
});

it("fires for no caller who left before it started, or after the sweep", async () => {
	const { fired, start } = lazyTimers();
	const left = new AbortController();
	start(LONG_MS, AbortSignal.abort());
	start(LONG_MS, left.signal);
	start(LONG_MS, new AbortController().signal);
	await vi.advanceTimersByTimeAsync(2_000);
	left.abort();
	await vi.advanceTimersByTimeAsync(2 * LONG_MS);
	expect(fired).toEqual([LONG_MS]);
});

it("a timer puts no listener on the signal of its caller, which would cost a request more than the timer", () => {
	const { start } = lazyTimers();
	const { signal } = new AbortController();
	const listening = vi.spyOn(signal, "addEventListener");
	start(LONG_MS, signal).cancel();
	expect(listening).not.toHaveBeenCalled();
});

it("many limits share one native timer, which keeps its request alive", async () => {
	const kept: Promise<unknown>[] = [];
	const { start } = lazyTimers((promise) => void kept.push(promise));
	const timers = Array.from({ length: 100 }, () => start(LONG_MS));
	expect(vi.getTimerCount()).toBe(1);
	for (const timer of timers) timer.cancel();
	await vi.advanceTimersByTimeAsync(1_000);
	await Promise.all(kept);
	expect([kept.length, vi.getTimerCount()]).toEqual([1, 0]);
	start(LONG_MS);
	expect(kept.length).toBe(2);
});

it("a sweep serves the limits that start until two seconds after its start", async () => {
	let sweeps = 0;
	const { start } = lazyTimers(() => void sweeps++);
	start(LONG_MS);
	vi.clearAllTimers();
	await vi.advanceTimersByTimeAsync(1_999);
	start(LONG_MS);
	expect([sweeps, vi.getTimerCount()]).toEqual([1, 0]);
	await vi.advanceTimersByTimeAsync(1);
	start(LONG_MS);
	expect([sweeps, vi.getTimerCount()]).toEqual([2, 1]);
});

it("a limit starts another sweep if the runtime has ended the first", async () => {
	const { fired, start } = lazyTimers();
	start(LONG_MS);
	vi.clearAllTimers();
	await vi.advanceTimersByTimeAsync(2_000);
	start(LONG_MS);
	await vi.advanceTimersByTimeAsync(LONG_MS);
	expect(fired).toEqual([LONG_MS, LONG_MS + 2_000]);
});

it("a clock that is set back extends a limit by a second at most", async () => {
	let count = 0;
	const timers = new LazyTimers({ keepAlive: () => {}, now: () => Date.now() });
	timers.start(LONG_MS, () => count++);
	vi.setSystemTime(Date.now() - 3_600_000);
	await vi.advanceTimersByTimeAsync(LONG_MS + 999);
	expect(count).toBe(0);
	await vi.advanceTimersByTimeAsync(1);
	expect(count).toBe(1);
});

it("has a native timer where no request is running", async () => {
	const { fired, start } = lazyTimers(() => {
		throw new Error("no request");
	});
	start(LONG_MS);
	await vi.advanceTimersByTimeAsync(LONG_MS);
	expect(fired).toEqual([LONG_MS]);
	startNativeTimer(5, () => fired.push(0)).cancel();
	await vi.advanceTimersByTimeAsync(5);
	expect(fired).toEqual([LONG_MS]);
});
