import { describe, expect, it } from "vitest";
import { mutantsOf } from "../../mutants/operators.ts";

/** Each mutant as the whole text with the bug in it. */
const mutated = (source: string): string[] =>
	mutantsOf("a.ts", source).map(
		({ start, end, replacement }) => source.slice(0, start) + replacement + source.slice(end),
	);

describe("mutants", () => {
	it.each([
		["export const a = b < c;", ["export const a = b <= c;"]],
		["export const a = b && c;", ["export const a = b || c;"]],
		["export const a = b ?? c;", ["export const a = b;"]],
		["export const a = !b;", ["export const a = b;"]],
		["export const a = true;", ["export const a = false;"]],
		["export const LIMIT = 300;", ["export const LIMIT = 600;"]],
		["if (a) b = 0;", ["if (true) b = 0;", "if (false) b = 0;", "if (a) ;", "if (a) b = 1;"]],
		["for (;;) break;", ["for (;;) ;"]],
		["throw a;", [";"]],
		["release();", [";"]],
		["await ledger.settle(ticket);", [";"]],
	])("of %s", (source, bugs) => {
		expect(mutated(source)).toEqual(bugs);
	});

	it("are none in types, but in what has a type", () => {
		expect(mutated("type A = 1 | 2; interface B { c: true }")).toEqual([]);
		expect(mutated("export const a = 2 as 1 | 2;")).toEqual(["export const a = 4 as 1 | 2;"]);
		expect(mutated("export function f(this: A, n: 300): 300 { return n; }")).toEqual([]);
	});

	it("name their line and the text that they replace", () => {
		expect(mutantsOf("a.ts", "const a = 1;\n\nexport const b = a < 1;")).toMatchObject([
			{ line: 1, original: "1", replacement: "0" },
			{ line: 3, original: "<", replacement: "<=" },
			{ line: 3, original: "1", replacement: "0" },
		]);
	});

	it("are refused where the source cannot be parsed", () => {
		expect(() => mutantsOf("a.ts", "const a = ;")).toThrow("a.ts: ");
	});
});
