import { describe, expect, it } from "vitest";
import { comparisonOf } from "../../../src/gateways/comparisons/comparison.ts";
import { differencesOf } from "../../../src/gateways/comparisons/differences.ts";

const facts = {
	...{
		provider: "workers-ai",
		model: "m",
		status: 200,
		tokens_in: 1,
		tokens_out: 1,
		cost: null,
		duration: 1,
	},
};
const compared = (before: string, after: string) =>
	comparisonOf("log", { facts, text: before }, { facts, text: after });
const chat = (content: string): string => JSON.stringify({ choices: [{ message: { content } }] });

describe("differences by JSON path", () => {
	it("names added, removed and changed values, and quotes names that are no words", () => {
		expect(
			differencesOf(
				{ a: 1, "b c": { d: [1, { e: true }] }, gone: null },
				{ a: "1", "b c": { d: [1, { e: false }, 3] } },
			),
		).toEqual({
			differences: [
				{ path: "$.a", kind: "changed", before: "1", after: '"1"' },
				{ path: '$["b c"].d[1].e', kind: "changed", before: "true", after: "false" },
				{ path: '$["b c"].d[2]', kind: "added", after: "3" },
				{ path: "$.gone", kind: "removed", before: "null" },
			],
			isComplete: true,
		});
	});

	it("compares values of different kinds, and names of prototypes, as values", () => {
		expect(differencesOf([1], { a: 1 })?.differences).toEqual([
			{ path: "$", kind: "changed", before: "[1]", after: '{"a":1}' },
		]);
		expect(differencesOf(JSON.parse('{"__proto__":{"a":1}}'), {})?.differences).toEqual([
			{ path: "$.__proto__", kind: "removed", before: '{"a":1}' },
		]);
		expect(differencesOf({ toString: 1, constructor: "a" }, {})?.differences).toMatchObject([
			{ path: "$.toString", kind: "removed" },
			{ path: "$.constructor", kind: "removed" },
		]);
		expect(differencesOf({}, {})).toEqual({ differences: [], isComplete: true });
	});

	it("has at most 100, with short values", () => {
		const long = Array.from({ length: 150 }, () => "x".repeat(2_000));
		const found = differencesOf([], long);
		expect([found?.differences.length, found?.isComplete]).toEqual([100, false]);
		expect(found?.differences[0]?.after).toHaveLength(301);
	});

	it("has none of values that are nested without end", () => {
		const deep = (end: string): unknown => JSON.parse(`${"[".repeat(50_000)}${end}${"]".repeat(50_000)}`);
		expect(differencesOf(deep("1"), deep("2"))).toBeUndefined();
	});
});

describe("a comparison", () => {
	it("finds equal values in texts that differ, and equal texts without white space at their ends", () => {
		expect(compared(chat('{"a":1,"b":2}'), chat('{ "b": 2, "a": 1 }'))).toMatchObject({
			same: true,
			differences: [],
		});
		expect(compared(chat("Hello "), chat("Hello"))).toMatchObject({ same: true });
		expect(compared(chat("Hello"), chat("hello"))).toMatchObject({ same: false });
		expect(compared(chat('{"a":1}'), chat("a is 1"))).toMatchObject({ same: false });
		expect(compared(chat('{"a":1}'), chat("a is 1"))).not.toHaveProperty("differences");
	});

	it("has at most 2 MB of JSON, whatever the models repeat", () => {
		const long = "\u0001".repeat(5_000);
		const hostile = (value: number): string =>
			JSON.stringify({
				choices: [
					{
						message: {
							content: JSON.stringify({
								[long]: Array.from({ length: 500 }, () => `${value}${long.slice(0, 300)}`),
							}),
							tool_calls: Array.from({ length: 40 }, () => ({ function: { name: long, arguments: long } })),
						},
					},
				],
			});
		expect(JSON.stringify(compared(hostile(1), hostile(2))).length).toBeLessThan(2_000_000);
	});

	it("cuts long texts, without half of a character", () => {
		const { before } = compared(chat(`${"x".repeat(32_767)}😀`), chat("Hello"));
		expect(before).toMatchObject({ text: "x".repeat(32_767), text_complete: false });
	});
});
