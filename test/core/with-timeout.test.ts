import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { endedAfter, resultWithin, withTimeout } from "../../src/core/with-timeout.ts";

const late = () => new Error("late");

describe("work with a time limit", () => {
	beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
	afterEach(() => void vi.useRealTimers());

	it("settles as the work does, and leaves no timer", async () => {
		expect(await withTimeout(Promise.resolve(1), 1_000, late)).toBe(1);
		await expect(withTimeout(Promise.reject(new Error("full")), 1_000, late)).rejects.toThrow("full");
		expect(vi.getTimerCount()).toBe(0);
	});

	it("rejects after the time, and a later end of the work changes nothing", async () => {
		const work = Promise.withResolvers<number>();
		const limited = withTimeout(work.promise, 1_000, late);
		const outcome = expect(limited).rejects.toThrow("late");
		vi.advanceTimersByTime(1_000);
		await outcome;
		work.reject(new Error("full"));
		await expect(limited).rejects.toThrow("late");
		expect(vi.getTimerCount()).toBe(0);
	});

	it("has no result if it fails or is late", async () => {
		expect(await resultWithin(Promise.resolve(1), 1_000)).toBe(1);
		expect(await resultWithin(Promise.reject(new Error("full")), 1_000)).toBeUndefined();
		const result = resultWithin(new Promise<never>(() => {}), 1_000);
		vi.advanceTimersByTime(1_000);
		expect(await result).toBeUndefined();
		expect(vi.getTimerCount()).toBe(0);
	});

	it("fires the signal of the work after the time, with the failure", async () => {
		let signal: AbortSignal | undefined;
		const failure = late();
		const ended = endedAfter(
			1_000,
			() => failure,
			(given) => {
				signal = given;
				return new Promise<never>(() => {});
			},
		);
		const outcome = expect(ended).rejects.toBe(failure);
		vi.advanceTimersByTime(999);
		expect(signal?.aborted).toBe(false);
		vi.advanceTimersByTime(1);
		await outcome;
		expect(signal?.reason).toBe(failure);
	});
});
