import { expect, it } from "vitest";
import { bestRanks, checkRanks } from "../../src/backends/ranking.ts";
import { callOf, json } from "./upstream.ts";

const call = callOf(() => json({}));
const rank = (id: number, score = 0) => ({ id, score });

it.each([
	[[rank(0), rank(1)], 2],
	[[rank(1)], 1],
	[[rank(1)], 0],
	[[], 0],
])("accepts the ranks %j, of which %i are expected", (ranks, expected) => {
	expect(checkRanks(ranks, ["a", "b"], expected, call)).toBe(ranks);
});

it.each([
	["too few", [rank(0)], 2],
	["twice the same", [rank(0), rank(0)], 0],
	["of a context that does not exist", [rank(2)], 0],
])("refuses ranks that are %s", (_, ranks, expected) => {
	expect(() => checkRanks(ranks, ["a", "b"], expected, call)).toThrow(
		"The backend 'lab' answered with something that is not a ranking of 2 contexts",
	);
});

it("sorts ranks, the best first, and returns as many as requested", () => {
	const ranks = [rank(0, 0.1), rank(1, 0.9), rank(2, 0.5)];
	const input = { query: "q", contexts: ["a", "b", "c"] };
	expect(bestRanks(ranks, input).ranks.map(({ id }) => id)).toEqual([1, 2, 0]);
	expect(bestRanks(ranks, { ...input, top_k: 2 }).ranks.map(({ id }) => id)).toEqual([1, 2]);
	expect(ranks.map(({ id }) => id)).toEqual([0, 1, 2]);
});
