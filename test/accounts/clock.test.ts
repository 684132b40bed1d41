import { afterEach, describe, expect, it, vi } from "vitest";
import { CorrectionLog, ForwardClock, nextMidnight, startOfDay, utcDay } from "../../src/accounts/clock.ts";

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

describe("the log of corrections", () => {
	const HOUR_MS = 3_600_000;
	const SEEN = Date.parse("2026-11-21T08:00:00Z");
	afterEach(() => vi.restoreAllMocks());

	/** Opens an account whose tables have a time, at a time of the clock, both in hours. Returns the number of lines. */
	function corrections(): (latest: number, clock: number) => number {
		const lines = vi.spyOn(console, "error").mockImplementation(() => {});
		const log = new CorrectionLog();
		return (latest, clock) => {
			log.note(new ForwardClock(() => SEEN + clock * HOUR_MS, SEEN + latest * HOUR_MS).read());
			return lines.mock.calls.length;
		};
	}

	it("has one line of a clock that was set back, for all accounts and however often each is opened", () => {
		const open = corrections();
		expect(open(0, 0)).toBe(0);
		expect(open(1, 0)).toBe(1);
		expect(open(1, 0.1)).toBe(1);
		expect(open(1.01, 0.2)).toBe(1);
		expect(open(0.5, 0.3)).toBe(1);
		expect(open(2, 2)).toBe(1);
	});

	it("has a line of each time that the clock is set back", () => {
		const open = corrections();
		expect(open(1, 0)).toBe(1);
		expect(open(3, 2)).toBe(2);
		expect(open(3, 1)).toBe(3);
		expect(open(3, 1.5)).toBe(3);
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
