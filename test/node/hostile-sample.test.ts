/** The patterns that the hostile soak runs at once. */
import { describe, expect, it } from "vitest";
import type { Pattern } from "../../tools/soak/hostile/attacker.ts";
import { PATTERNS } from "../../tools/soak/hostile/patterns/index.ts";
import { KNOWN_PATTERNS, sampled } from "../../tools/soak/hostile/sample.ts";

const names = (patterns: readonly Pattern[]): string[] => patterns.map(({ name }) => name);
const run = (number: number, seed = 7) => names(sampled(PATTERNS, { count: 64, seed, run: number }));

describe("a sample of 64 patterns", () => {
	it("contains the known patterns, and three runs contain all", () => {
		const runs = [0, 1, 2].map((number) => run(number));
		for (const patterns of runs) {
			expect(new Set(patterns).size).toBe(64);
			expect(patterns.filter((name) => KNOWN_PATTERNS.has(name))).toHaveLength(KNOWN_PATTERNS.size);
		}
		expect(new Set(runs.flat())).toEqual(new Set(names(PATTERNS)));
	});

	it("is the same for a seed, and another for another", () => {
		expect(run(0)).toEqual(run(0));
		expect(run(0, 8)).not.toEqual(run(0));
	});

	it("is the whole list if it is not longer", () => {
		expect(sampled(PATTERNS, { count: PATTERNS.length, seed: 7, run: 0 })).toEqual(PATTERNS);
	});
});
