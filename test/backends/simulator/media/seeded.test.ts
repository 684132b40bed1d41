import { expect, it } from "vitest";
import { hash, numbersFrom } from "../../../../src/backends/simulator/media/seeded.ts";

it("hashes as FNV-1a does", () => {
	expect(hash("")).toBe(0x811c9dc5);
	expect(hash("a")).toBe(0xe40c292c);
	expect(hash("foobar")).toBe(0xbf9cf968);
});

it("gives the same numbers for the same seed, spread from 0 up to 1", () => {
	const draw = (seed: number) => Array.from({ length: 1000 }, numbersFrom(seed));
	const numbers = draw(7);
	expect(draw(7)).toEqual(numbers);
	expect(draw(8)).not.toEqual(numbers);
	expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
	expect(numbers.reduce((sum, number) => sum + number) / 1000).toBeCloseTo(0.5, 1);
});
