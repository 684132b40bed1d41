import { expect, it } from "vitest";
import { jsonArrays } from "../../src/core/json-arrays.ts";

const counts = (values: readonly unknown[], maxCount?: number) =>
	jsonArrays(values, maxCount).map(({ count }) => count);

it("has all values, in their order", () => {
	const values = Array.from({ length: 50 }, (_, n) => ({ n, text: "x".repeat(30_000) }));
	const arrays = jsonArrays(values);
	expect(arrays.flatMap(({ text }) => JSON.parse(text))).toEqual(values);
	expect(arrays.every(({ text, count }) => JSON.parse(text).length === count)).toBe(true);
});

it("has arrays of bounded size and length", () => {
	// With its quotation marks, each of them has 100,000 characters.
	const quarter = "x".repeat(99_998);
	expect(counts(Array(9).fill(quarter))).toEqual([4, 4, 1]);
	expect(counts(["a", "x".repeat(500_000), "b", "c"])).toEqual([1, 1, 2]);
	expect(counts([1, 2, 3, 4, 5], 2)).toEqual([2, 2, 1]);
	expect(counts([])).toEqual([]);
});
