import { describe, expect, it } from "vitest";
import { expressionIn, numberWord, operationsIn } from "../../../src/backends/simulator/expression.ts";

describe("expressionIn", () => {
	it.each([
		["What is 17 times 23?", "17 * 23"],
		["what is 17 * 23", "17 * 23"],
		["(3+4)*5 please", "(3+4)*5"],
		["add 3 and 4", "3 + 4"],
		["subtract 3 from 10", "10 - 3"],
		["the sum of 3.5 and 4", "3.5 + 4"],
		["what is 15% of 80", "15 / 100 * 80"],
		["two plus forty-two", "2 + 42"],
		["the square root of 16", "sqrt(16)"],
		["2 to the power of 8", "2 ** 8"],
		["9 squared minus 1", "9 ** 2 - 1"],
		["1,234 divided by 2", "1234 / 2"],
		["3 plus (4 times 5)", "3 + (4 * 5)"],
		["3 × 4 ÷ 2", "3 * 4 / 2"],
		["((1 + 2", "1 + 2"],
		["what is 5-3", "5-3"],
	])("%s", (text, expression) => expect(expressionIn(text)).toBe(expression));

	it.each(["hello", "17", "call 555-1234 on 2024-05-01", "I have 3-5 cats", "on 3/4/2025", "times and plus"])(
		"none: %s",
		(text) => expect(expressionIn(text)).toBeUndefined(),
	);
});

it("numberWord reads up to a hundred", () => {
	expect(
		["zero", "Seven", "nineteen", "ninety", "forty-two", "sixty one", "hundred"].map(numberWord),
	).toEqual([0, 7, 19, 90, 42, 61, 100]);
	expect(["many", "ten-two", "one two", "forty-ten", ""].map(numberWord)).toEqual(Array(5).fill(undefined));
});

it("operationsIn names the operations as tools do", () => {
	expect(operationsIn("What is 6 times 7?")).toContain("multiply");
	expect(operationsIn("6 / 7")).toContain("divide");
	expect(operationsIn("I go there sometimes, plus you")).toEqual([]);
});
