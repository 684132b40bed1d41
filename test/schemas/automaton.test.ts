import { describe, expect, it } from "vitest";
import { automatonOf } from "../../src/schemas/automaton.ts";
import { readExpression } from "../../src/schemas/expression.ts";

const made = (source: string) => {
	const tree = readExpression(source);
	if (!tree) throw new Error(`${source} is not read`);
	return automatonOf(tree);
};

describe("the ways through an expression", () => {
	// 0 is the beginning; a state for each character follows.
	it.each<[string, number[][]]>([
		["^abc", [[1], [2], [3], []]],
		["abc", [[0, 1], [2], [3], []]],
		["^(?:a|b)c", [[1, 2], [3], [3], []]],
		["^a*b", [[1, 2], [1, 2], []]],
		["^a+b", [[1], [1, 2], []]],
		["^a?b", [[1, 2], [2], []]],
		["^a{2}b", [[1], [2], [3], []]],
		["^a{1,2}b", [[1], [2, 3], [3], []]],
		["^a{2,}b", [[1], [2], [2, 3], []]],
		["^(?:ab)*c", [[1, 3], [2], [1, 3], []]],
		["^a$", [[1], []]],
		["a|^b", [[0, 1, 2], [], []]],
		["^a|^b", [[1, 2], [], []]],
		["^", [[]]],
	])("%s", (source, next) => expect(made(source)?.next).toEqual(next));

	it("stand as often as there are derivations", () => {
		expect(made("^(?:a|a)b")?.next[0]).toEqual([1, 2]);
		expect(made("^(?:a+)+b")?.next[1]).toEqual([1, 1, 2]);
	});

	it("leave out what may be missing at the end: the engine takes it once", () => {
		expect(made("^a.*")?.next).toEqual([[1], []]);
		expect(made("^ab?")?.next).toEqual([[1], []]);
		expect(made("^a(?:b|c)*d*")?.next).toEqual([[1], []]);
		// Where an end is asked for it goes back.
		expect(made("^a.*$")?.next).toEqual([[1], [2], [2]]);
	});
});

describe("what is too much", () => {
	it("500 states are made, the beginning apart", () => {
		expect(made(`^${"a".repeat(500)}`)?.ranges).toHaveLength(501);
		expect(made(`^${"a".repeat(501)}`)).toBeUndefined();
	});

	it("a count of more than 64 states is taken for an open one", () => {
		expect(made("^a{64}b")?.ranges).toHaveLength(1 + 64 + 1);
		expect(made("^a{65}b")?.next).toEqual([[1], [1, 2], []]);
		expect(made("^(?:abc){0,22}d")?.next).toEqual([[1, 4], [2], [3], [1, 4], []]);
		expect(made("^(?:ab){32}c")?.ranges).toHaveLength(1 + 64 + 1);
	});

	it("4,000 edges", () => {
		const choices = (count: number) => `(?:${Array.from({ length: count }, () => "a").join("|")})`;
		expect(made(`^${choices(63)}${choices(63)}b`)).toBeUndefined();
		expect(made(`^${choices(60)}${choices(60)}b`)).toBeDefined();
	});

	it("what can be empty in several ways", () => {
		expect(made("^(?:a*|b*)c")).toBeUndefined();
		expect(made("^(?:a?){100}b")).toBeUndefined();
		expect(made("^(?:a*|b)c")).toBeDefined();
	});
});
