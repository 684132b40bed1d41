import { expect, it } from "vitest";
import { BodyRate } from "../../scripts/connections/body-rate.ts";

it("a body is slow below 1 KB a second, measured over 10 seconds", () => {
	const rate = new BodyRate();
	rate.begin(0);
	rate.add(10 * 1024 - 1);
	expect(rate.isSlow(9_999)).toBe(false);
	expect(rate.isSlow(10_000)).toBe(true);
	rate.add(10 * 1024);
	expect(rate.isSlow(20_000)).toBe(false);
	// What came earlier does not pay for a later pause.
	expect(rate.isSlow(30_000)).toBe(true);
});
