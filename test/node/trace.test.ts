import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { ENTERED } from "../../tools/trace/entered.ts";
import { instrumented } from "../../tools/trace/instrument.ts";

/** The names of the functions that the source enters, in their order. */
function enteredBy(source: string): string[] {
	const entered = new Set<string>();
	runInNewContext(instrumented(source, "a.ts"), { [ENTERED]: entered });
	return [...entered];
}

describe("the instrumented functions", () => {
	it.each([
		["a declaration", "function one() {} one();", ["a.ts:1:1 one"]],
		["a function that is not entered", "function one() {} function two() {} two();", ["a.ts:1:19 two"]],
		["an arrow with a block", "const one = () => { return 1; }; one();", ["a.ts:1:13 one"]],
		[
			"an arrow that returns an object",
			"const one = () => ({ two: () => 3 }); one().two();",
			["a.ts:1:13 one", "a.ts:1:27 two"],
		],
		["a method", "class One {\n\ttwo() {}\n}\nnew One().two();", ["a.ts:2:5 two"]],
		["a getter", "({ get two() { return 2; } }).two;", ["a.ts:1:11 two"]],
		["a callback", "[1].map((n) => n + 1);", ["a.ts:1:9 anonymous"]],
		[
			"a default of a parameter",
			"function one(two = () => 2) { two(); } one();",
			["a.ts:1:1 one", "a.ts:1:20 two"],
		],
	])("%s", (_, source, names) => {
		expect(enteredBy(source)).toEqual(names);
	});

	it("keeps what the functions return", () => {
		const source = "const double = (n) => n * 2; result = [1, 2].map(double);";
		const global = { [ENTERED]: new Set<string>(), result: [] };
		runInNewContext(instrumented(source, "a.ts"), global);
		expect(global.result).toEqual([2, 4]);
	});
});
