import { describe, expect, it } from "vitest";
import { Allowance } from "../../src/core/allowance.ts";

describe("an allowance", () => {
	it("allows a burst at once, and after it as much a second as it may", () => {
		const allowance = new Allowance({ burst: 4_000, perSecond: 1_000 });
		allowance.count(4_000);
		expect(allowance.delayMs(0)).toBe(0);
		allowance.count(500);
		expect(allowance.delayMs(0)).toBe(500);
		expect(allowance.delayMs(500)).toBe(0);
		allowance.count(2_000);
		expect(allowance.delayMs(1_500)).toBe(1_000);
	});

	it("never allows more than a burst, and a clock that is set back changes nothing", () => {
		const allowance = new Allowance({ burst: 1_000, perSecond: 1_000 });
		allowance.count(1_000);
		expect(allowance.delayMs(1e9)).toBe(0);
		allowance.count(1);
		expect(allowance.delayMs(0)).toBe(1);
		expect(allowance.delayMs(1e9)).toBe(0);
		allowance.count(1_001);
		expect(allowance.delayMs(1e9)).toBe(1);
	});
});
