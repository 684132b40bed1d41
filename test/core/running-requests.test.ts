import { describe, expect, it } from "vitest";
import { RunningRequests } from "../../src/core/running-requests.ts";

/** Requests that are under way until `end`. */
function requestsOf(max: number) {
	const running = new RunningRequests(max, () => 0);
	const wait = async (): Promise<void> => {};
	const open = new Map<string, (() => void)[]>();
	return {
		running,
		/** Begins requests until one is refused, at most `most`. Returns how many began. */
		begin(account: string, most = Number.POSITIVE_INFINITY): number {
			let begun = 0;
			while (begun < most) {
				const { promise, resolve } = Promise.withResolvers<void>();
				const place = running.begin(account, promise, wait);
				if (place) {
					resolve();
					place.catch(() => {});
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
	it("are refused with 429 and a time when the process has its maximum, after two seconds", async () => {
		const { begin, running } = requestsOf(10);
		expect(begin("acme", 9)).toBe(9);
		expect(begin("other", 1)).toBe(1);
		const times: number[] = [];
		const wait = async (milliseconds: number) => void times.push(milliseconds);
		await expect(running.begin("third", new Promise(() => {}), wait)).rejects.toMatchObject({
			...{ key: "outOfCapacity", status: 429, retryAfter: 2 },
		});
		expect(times).toEqual([2_000]);
		expect(running.report()).toEqual({ name: "requests", used: 10, limit: 10, refused: 1 });
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
		running.begin("acme", failing.promise, async () => {});
		expect(running.size).toBe(1);
		failing.reject(new Error("the engine is gone"));
		await failing.promise.catch(() => {});
		expect(running.size).toBe(0);
	});

	it("wait for a place, which goes to the account with the fewest, and there to the oldest", async () => {
		const { begin, end, running } = requestsOf(10);
		const never = () => new Promise<void>(() => {});
		const order: string[] = [];
		const wait = (account: string, name: string) => {
			const { promise, resolve } = Promise.withResolvers<void>();
			void running.begin(account, promise, never)?.then(() => order.push(name));
			return resolve;
		};
		expect(begin("flood", 5)).toBe(5);
		expect(begin("calm", 4)).toBe(4);
		wait("flood", "flood 1");
		wait("calm", "calm 1");
		wait("calm", "calm 2");
		await end("calm", 1);
		await end("calm", 1);
		await end("flood", 1);
		await expect.poll(() => order.length).toBe(3);
		expect(order).toEqual(["calm 1", "calm 2", "flood 1"]);
	});

	it("have no place of a request that came later, and none after their end", async () => {
		const { begin, end, running } = requestsOf(10);
		const never = () => new Promise<void>(() => {});
		expect(begin("acme", 9)).toBe(9);
		const left = Promise.withResolvers<void>();
		const first = running.begin("acme", left.promise, never);
		const second = running.begin("acme", new Promise(() => {}), never);
		left.resolve();
		await expect(first).rejects.toMatchObject({ key: "aborted" });
		expect(running.report().refused).toBe(0);
		await end("acme", 1);
		await second;
		expect(running.size).toBe(9);
	});

	it("that get a place leave no timer, and do not look for the place meanwhile", async () => {
		const { begin, end, running } = requestsOf(10);
		expect(begin("acme", 9)).toBe(9);
		const timers: { milliseconds: number; signal: AbortSignal }[] = [];
		const place = running.begin("acme", new Promise(() => {}), (milliseconds, signal) => {
			timers.push({ milliseconds, signal });
			return new Promise(() => {});
		});
		await end("acme", 1);
		await place;
		expect(timers).toEqual([{ milliseconds: 2_000, signal: expect.objectContaining({ aborted: true }) }]);
	});

	it("that wait are bounded, and an account that floods the queue loses its own", async () => {
		const { begin, running } = requestsOf(10);
		const never = () => new Promise<void>(() => {});
		expect(begin("flood", 9)).toBe(9);
		const waiting = Array.from({ length: 256 }, () => running.begin("flood", never(), never));
		await expect(running.begin("flood", never(), never)).rejects.toMatchObject({ status: 429 });
		expect(begin("calm", 1)).toBe(1);
		void running.begin("calm", never(), never);
		await expect(waiting.at(-1)).rejects.toMatchObject({ status: 429 });
	});

	it("are never refused on a platform without a limit", () => {
		const { begin, running } = requestsOf(Number.POSITIVE_INFINITY);
		expect(begin("acme", 10_000)).toBe(10_000);
		expect(running.size).toBe(10_000);
	});
});
