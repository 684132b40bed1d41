import { describe, expect, it } from "vitest";
import { classSpeed, SpeedEstimate, speedClass } from "../../src/pools/speed.ts";

const learned = (...samples: [tokens: number, ms: number][]): SpeedEstimate => {
	const estimate = new SpeedEstimate();
	for (const [tokens, ms] of samples) estimate.learn(tokens, ms);
	return estimate;
};

describe("an estimated speed", () => {
	it.each<[string, [number, number][], number]>([
		["no sample", [], 8],
		["a short prompt", [[255, 1]], 8],
		["no time", [[1_000, 0]], 8],
		["an unknown time", [[1_000, Number.NaN]], 8],
		// (256 + 16,384) / (64 + 2,048).
		["a prompt of 256 tokens", [[256, 64]], 7.878_787_878],
		// (256 + 16,384) / (1 + 2,048).
		["a prompt of a millisecond", [[256, 1]], 8.121_034_7],
		["many tokens", [[50_000_000, 5_000_000]], 9.999_181_2],
		// The first sample counts 1 / e.
		[
			"an older sample",
			[
				[500_000, 50_000],
				[500_000, 50_000],
			],
			9.941_852_8,
		],
	])("with %s", (_, samples, perMs) => {
		expect(learned(...samples).perMs()).toBeCloseTo(perMs, 6);
	});

	it("without samples is that of the pool", () => {
		expect(new SpeedEstimate().perMs(3)).toBe(3);
	});
});

describe("the class of a speed", () => {
	it.each([
		[16, 0, 2],
		[4, 0, -2],
		[8 * 2 ** 0.345, 0, 0],
		[8 * 2 ** 0.355, 0, 1],
		[8 * 2 ** 0.155, 1, 1],
		[8 * 2 ** 0.145, 1, 0],
	])("%f tokens per millisecond, in class %i before", (perMs, current, expected) => {
		expect(speedClass(perMs, 8, current)).toBe(expected);
	});

	it("has a speed", () => {
		expect([-2, 0, 2, 4].map((each) => classSpeed(each, 8))).toEqual([4, 8, 16, 32]);
	});
});
