import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Windows } from "../../../src/accounts/durable/windows.ts";

const KEY = "task:Text Generation";

const opensAt = (windows: Windows, rates: Parameters<Windows["refusing"]>[0], now: number): number =>
	windows.refusing(rates, now)?.until ?? now;

describe("Windows", () => {
	it("opens when the request that reached the limit is 60 seconds old", () => {
		const windows = new Windows();
		const rates = [{ key: KEY, perMinute: 2 }];
		windows.count([KEY], 1_000);
		windows.count([KEY], 21_000);
		expect(opensAt(windows, rates, 30_000)).toBe(61_000);
		expect(opensAt(windows, rates, 60_999)).toBe(61_000);
		expect(opensAt(windows, rates, 61_000)).toBe(61_000);
		windows.count([KEY], 61_000);
		expect(opensAt(windows, rates, 61_001)).toBe(81_000);
	});

	it("counts exactly after a full minute has passed, at a limit of 100", () => {
		const windows = new Windows();
		const rates = [{ key: KEY, perMinute: 100 }];
		const passed = (from: number, requests: number): number => {
			let count = 0;
			for (let now = from; now < from + requests; now++) {
				if (opensAt(windows, rates, now) > now) continue;
				windows.count([KEY], now);
				count++;
			}
			return count;
		};
		expect(passed(0, 100)).toBe(100);
		expect(passed(60_100, 200)).toBe(100);
		expect(passed(120_300, 1_000)).toBe(100);
	});

	it("holds nothing after more is returned than is held", () => {
		const windows = new Windows();
		windows.hold([KEY], 3);
		windows.clear();
		windows.hold([KEY], -3);
		expect(windows.used(KEY, 0)).toBe(0);
		windows.hold([KEY], 2);
		expect(windows.used(KEY, 0)).toBe(2);
	});

	it("opens when the last of several keys does", () => {
		const windows = new Windows();
		windows.count(["a", "b"], 1_000);
		windows.count(["b"], 5_000);
		const a = { key: "a", perMinute: 1 };
		const b = { key: "b", perMinute: 1 };
		expect(opensAt(windows, [a, b], 6_000)).toBe(65_000);
		expect(opensAt(windows, [a], 6_000)).toBe(61_000);
		expect(opensAt(windows, [{ key: "c", perMinute: 1 }], 6_000)).toBe(6_000);
	});

	it("waits until there are fewer requests than a lowered limit", () => {
		const windows = new Windows();
		for (const time of [1_000, 2_000, 3_000, 4_000]) windows.count([KEY], time);
		expect(opensAt(windows, [{ key: KEY, perMinute: 2 }], 5_000)).toBe(63_000);
	});

	it("never opens for a limit of 0", () => {
		expect(opensAt(new Windows(), [{ key: KEY, perMinute: 0 }], 5_000)).toBe(Number.POSITIVE_INFINITY);
	});

	it("admits exactly the limit in any 60 seconds, and opens no later than necessary", () => {
		const steps = fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 300 });
		fc.assert(
			fc.property(steps, fc.integer({ min: 1, max: 100 }), (gaps, perMinute) => {
				const windows = new Windows();
				const passed: number[] = [];
				let now = 0;
				for (const gap of gaps) {
					now += gap;
					const recent = passed.filter((time) => time > now - 60_000);
					const opens = opensAt(windows, [{ key: KEY, perMinute }], now);
					expect(opens <= now).toBe(recent.length < perMinute);
					expect(windows.used(KEY, now)).toBe(recent.length);
					if (opens > now) {
						// Requests of the same moment expire together.
						expect(passed.filter((time) => time > opens - 60_000).length).toBeLessThan(perMinute);
						expect(passed.filter((time) => time > opens - 1 - 60_000).length).toBe(perMinute);
						continue;
					}
					passed.push(now);
					windows.count([KEY], now);
				}
			}),
		);
	});

	it("deletes a window without requests for a minute", () => {
		const windows = new Windows();
		windows.count([KEY], 1_000);
		windows.deleteIdle(61_000);
		expect(windows.used(KEY, 2_000)).toBe(0);
	});

	it("keeps a window with one request of the last minute", () => {
		const windows = new Windows();
		windows.count([KEY], 1_000);
		windows.deleteIdle(60_999);
		expect(windows.used(KEY, 60_999)).toBe(1);
	});
});
