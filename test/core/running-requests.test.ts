import { describe, expect, it } from "vitest";
import { RunningRequests } from "../../src/core/running-requests.ts";

/** Requests that are under way until `end`. */
function requestsOf(max: number) {
	const running = new RunningRequests(max);
	const open = new Map<string, (() => void)[]>();
	return {
		running,
		/** Begins requests until one is refused, at most `most`. Returns how many began. */
		begin(account: string, most = Number.POSITIVE_INFINITY): number {
			let begun = 0;
			while (begun < most) {
				const { promise, resolve } = Promise.withResolvers<void>();
				try {
					running.hold(account, promise);
				} catch {
					break;
				}
				begun++;
				open.set(account, [...(open.get(account) ?? []), resolve]);
			}
			return begun;
		},
		async end(account: string, count: number): Promise<void> {
			for (const resolve of (open.get(account) ?? []).splice(0, count)) resolve();
			await Promise.resolve();
		},
	};
}

describe("requests under way", () => {
	it("are refused with 429 and a time when the process has its maximum", () => {
		const { begin, running } = requestsOf(10);
		expect(begin("acme")).toBe(9);
		expect(begin("other", 1)).toBe(1);
		expect(() => running.hold("third", Promise.resolve())).toThrow(
			expect.objectContaining({ key: "outOfCapacity", status: 429, retryAfter: 2 }),
		);
	});

	it("of a single account may use nine tenths, and of a new account the last tenth", () => {
		const { begin } = requestsOf(100);
		expect(begin("acme")).toBe(90);
		expect(begin("new")).toBe(10);
		expect(begin("acme")).toBe(0);
	});

	it("of an account that floods leave each other account its part", async () => {
		const { begin, end } = requestsOf(100);
		expect(begin("calm", 5)).toBe(5);
		// The part of the calm account is 45, of which it uses 5.
		expect(begin("flood")).toBe(45);
		expect(begin("calm", 40)).toBe(40);
		await end("calm", 45);
		// It has none under way, so its part is lent, except the last tenth.
		expect(begin("flood")).toBe(45);
		expect(begin("calm", 100)).toBe(10);
		await end("flood", 50);
		expect(begin("calm", 100)).toBe(35);
	});

	it("end when their promise settles, also by a failure", async () => {
		const { running } = requestsOf(2);
		const failing = Promise.withResolvers<void>();
		running.hold("acme", failing.promise);
		expect(running.size).toBe(1);
		failing.reject(new Error("the engine is gone"));
		await failing.promise.catch(() => {});
		expect(running.size).toBe(0);
	});

	it("wait for a place, the oldest first, and not longer than the time", async () => {
		const { begin, end, running } = requestsOf(10);
		const never = () => new Promise<void>(() => {});
		expect(begin("acme")).toBe(9);
		expect(running.waitForPlace("other", never)).toBeUndefined();
		const order: string[] = [];
		const first = running.waitForPlace("acme", never)?.then(() => order.push("first"));
		const second = running.waitForPlace("acme", never)?.then(() => order.push("second"));
		await end("acme", 1);
		await first;
		expect(order).toEqual(["first"]);
		await end("acme", 1);
		await second;
		expect(order).toEqual(["first", "second"]);
		expect(begin("acme")).toBe(2);
		// Its time has passed.
		await running.waitForPlace("acme", async () => {});
		expect(() => running.hold("acme", Promise.resolve())).toThrow(expect.objectContaining({ status: 429 }));
	});

	it("are never refused on a platform without a limit", () => {
		const { begin, running } = requestsOf(Number.POSITIVE_INFINITY);
		expect(begin("acme", 10_000)).toBe(10_000);
		expect(running.size).toBe(10_000);
	});
});
