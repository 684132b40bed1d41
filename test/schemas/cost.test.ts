import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Automaton, automatonOf } from "../../src/schemas/automaton.ts";
import { type Cost, costOf } from "../../src/schemas/cost.ts";
import { readExpression } from "../../src/schemas/expression.ts";

const automaton = (source: string): Automaton | undefined => {
	const tree = readExpression(source);
	return tree && automatonOf(tree);
};
const cost = (source: string): Cost | undefined => {
	const ways = automaton(source);
	return ways && costOf(ways);
};
/** Power of the length that the work grows with. */
const power = (source: string): number | undefined => {
	return cost(source)?.findLastIndex((factor) => factor > 0);
};

describe("how the work grows", () => {
	it.each<[string, number]>([
		["^abc$", 0],
		["^[a-z]{3}-\\d{4}$", 0],
		["^a*b$", 1],
		["^\\d+(?:\\.\\d+)?$", 1],
		["^[^@]+@[^@]+\\.[a-z]{2,}$", 2],
		["abc", 1],
		["^(?:a|b)*c$", 1],
		["^(?:ab)*c$", 1],
		["^a*a*b$", 2],
		["^a*a*a*b$", 3],
		["^a*a*a*a*b$", 4],
		["a*b", 2],
		["^a*b*c$", 1],
	])("%s: to the power of %d", (source, grows) => expect(power(source)).toBe(grows));

	it.each([
		"^(a+)+b$",
		"^(a|a)*b$",
		"^(a*)*b$",
		"^(?:a|ab|b)*c$",
		"^(?:\\w|\\d)+!$",
		"^(?:.*,)*x$",
		"^(?:x+x+)+y$",
		"^a*a*a*a*a*b$",
		"^([a-zA-Z0-9]+\\s?)+x$",
	])("%s: without measure", (source) => {
		expect(automaton(source)).toBeDefined();
		expect(cost(source)).toBeUndefined();
	});
});

/** Ways to read beginnings of a text, one by one as a backtracking engine goes. */
function waysToRead({ ranges, next }: Automaton, text: string): number {
	let paths = new Map([[0, 1]]);
	let total = 1;
	for (const sign of text) {
		const code = sign.codePointAt(0) ?? 0;
		const on = new Map<number, number>();
		for (const [state, count] of paths)
			for (const other of next[state] ?? [])
				if (ranges[other]?.some(([from, to]) => from <= code && code <= to))
					on.set(other, (on.get(other) ?? 0) + count);
		for (const count of on.values()) total += count;
		paths = on;
	}
	return total;
}

const expression = fc.letrec<{ any: string }>((tie) => ({
	any: fc.oneof(
		{ depthSize: "medium", withCrossShrink: true },
		fc.constantFrom("a", "b", "[ab]", ".", "[^a]", "\\w"),
		fc.tuple(tie("any"), tie("any")).map(([one, other]) => `${one}${other}`),
		fc.tuple(tie("any"), tie("any")).map(([one, other]) => `(?:${one}|${other})`),
		fc
			.tuple(tie("any"), fc.constantFrom("*", "+", "?", "{2}", "{1,3}", "{2,}"))
			.map(([one, count]) => `(?:${one})${count}`),
	),
}));

it("is never less than what a text takes", () => {
	let known = 0;
	fc.assert(
		fc.property(
			expression.any,
			fc.boolean(),
			fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 14 }),
			(source, isAnchored, letters) => {
				const ways = automaton(`${isAnchored ? "^" : ""}${source}!`);
				const costs = ways && costOf(ways);
				if (!ways || !costs) return;
				known++;
				const most = costs.reduceRight((sum, factor) => sum * (letters.length + 1) + factor, 0);
				expect(waysToRead(ways, letters.join(""))).toBeLessThanOrEqual(most + 1);
			},
		),
		{ numRuns: 1_000 },
	);
	expect(known).toBeGreaterThan(300);
});
