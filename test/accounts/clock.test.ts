import { describe, expect, it } from "vitest";
import { ForwardClock, nextMidnight, startOfDay, utcDay } from "../../src/accounts/clock.ts";

describe("ForwardClock", () => {
	it("keeps its time while the clock is behind", () => {
		let clock = 500;
		const forward = new ForwardClock(() => clock, 1_000);
		expect(forward.read()).toEqual({ now: 1_000, clock: 500 });
		clock = 2_000;
		expect(forward.read()).toEqual({ now: 2_000, clock: 2_000 });
		clock = 1_500;
		expect(forward.read()).toEqual({ now: 2_000, clock: 1_500 });
	});
});

describe("a clock that ran ahead", () => {
	it("is followed up to five minutes, and corrected beyond", () => {
		const kept = new ForwardClock(() => 1_000_000, 1_300_000);
		expect(kept.read()).toEqual({ now: 1_300_000, clock: 1_000_000 });
		const corrected = new ForwardClock(() => 1_000_000, 1_300_001);
		expect(corrected.read()).toEqual({ now: 1_000_000, clock: 1_000_000, corrected: 300_001 });
		expect(corrected.read()).toEqual({ now: 1_000_000, clock: 1_000_000 });
	});
});

describe("days", () => {
	it("turn at midnight UTC", () => {
		const midnight = Date.parse("2026-11-22T00:00:00Z");
		expect(utcDay(midnight - 1)).toBe("2026-11-21");
		expect(utcDay(midnight)).toBe("2026-11-22");
		expect(nextMidnight(midnight - 1)).toBe(midnight);
		expect(nextMidnight(midnight)).toBe(midnight + 86_400_000);
		expect(startOfDay("2026-11-22")).toBe(midnight);
	});
});
