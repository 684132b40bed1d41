import { describe, expect, it } from "vitest";
import { JsonRepair, repairedObject } from "../../src/core/json-repair.ts";

/** All ways to cut a short text into two pieces, and single characters. */
const cutsOf = (text: string): string[][] => [
	[text],
	[...text],
	...Array.from({ length: text.length }, (_, at) => [text.slice(0, at), text.slice(at)]),
];
const writeAll = (pieces: readonly string[], options = {}) => {
	const repair = new JsonRepair(options);
	return { text: pieces.map((piece) => repair.write(piece)).join(""), state: repair.state };
};

const VALID = [
	"{}",
	' {\n "city": "Oslo", "days": [1, -2.5e3, []], "more": {"a": null, "b": true, "c": false} } \n',
	String.raw`{"command": "echo \"hi\" | sed 's/a\\b/\/c/' \u00e9 \n"}`,
	'{"a": "it\'s", "ø": "🦊"}',
];

const REPAIRED: [name: string, sent: string, value: object][] = [
	["single quotes", `{'city': 'Oslo', 'note': 'it\\'s "cold"'}`, { city: "Oslo", note: `it's "cold"` }],
	["Python's words", `{"a": True, "b": False, "c": None}`, { a: true, b: false, c: null }],
	["words that are no JSON", `{"a": NaN, "b": undefined}`, { a: null, b: null }],
	["names without quotes", `{city: "Oslo", max_days: 2}`, { city: "Oslo", max_days: 2 }],
	["a text without quotes", `{"city": New York, "unit": celsius}`, { city: "New York", unit: "celsius" }],
	["line breaks in a text", '{"code": "a\n\tb"}', { code: "a\n\tb" }],
	[
		"unknown escapes",
		String.raw`{"pattern": "\d+\.\w", "quote": "it\'s"}`,
		{ pattern: "\\d+\\.\\w", quote: "it's" },
	],
	["a comma before a brace", '{"a": 1,\n}', { a: 1 }],
	["a comma before a bracket", '{"a": [1, 2, ], "b": 3,}', { a: [1, 2], b: 3 }],
	["a brace too many", '{"a": {"b": 1}}}', { a: { b: 1 } }],
	["text after the object", '{"a": 1}</tool_call>\n```', { a: 1 }],
];

const BROKEN: [name: string, sent: string][] = [
	["quotes in a text", '{"command": "echo "hi" > x"}'],
	["no value", '{"a": }'],
	["no comma", '{"a": 1 "b": 2}'],
	["a wrong bracket", '{"a": [1}'],
	["a wrong number", '{"a": 1.2.3}'],
	["wrong digits", '{"a": "\\u12x4"}'],
	["an expression", '{"a": "x" + 1}'],
	["a call", '{"a": f(1)}'],
	["no name", "{: 1}"],
];

describe("valid JSON", () => {
	it.each(VALID)("passes unchanged: %s", (text) => {
		for (const pieces of cutsOf(text)) expect(writeAll(pieces)).toEqual({ text, state: "complete" });
	});

	it.each(VALID)("is written as it comes, if nothing is held: %s", (text) => {
		const repair = new JsonRepair({ holdsSigns: false });
		const pieces = text.match(/[a-z]+|./gsu) ?? [];
		expect(pieces.map((piece) => repair.write(piece))).toEqual(pieces);
		expect(repair.state).toBe("complete");
	});

	it("is open until its end", () => {
		const text = '{"a": [1, "b"], "c": tru';
		const repair = new JsonRepair();
		expect(repair.state).toBe("empty");
		for (const sign of text) repair.write(sign);
		expect(repair.state).toBe("open");
		expect(repair.write("e}")).toBe("true}");
		expect(repair.state).toBe("complete");
	});
});

describe("JSON that is repaired", () => {
	it.each(REPAIRED)("%s", (_, sent, value) => {
		for (const pieces of cutsOf(sent)) {
			const { text, state } = writeAll(pieces);
			expect([JSON.parse(text), state]).toEqual([value, "complete"]);
		}
		expect(JSON.parse(repairedObject(sent))).toEqual(value);
	});

	it("has no comma at the end of a piece, unless nothing is held", () => {
		const pieces = ['{"a": [1,', " 2, ],", "}"];
		expect(writeAll(pieces)).toEqual({ text: '{"a": [1, 2 ]}', state: "complete" });
		expect(writeAll(pieces, { holdsSigns: false })).toEqual({ text: '{"a": [1, 2 ],}', state: "broken" });
		expect(writeAll(['{"a": 1,', ' "b": 2,}'], { holdsSigns: false }).text).toBe('{"a": 1, "b": 2}');
	});
});

describe("a text that cannot be repaired", () => {
	it.each(BROKEN)("is broken and complete: %s", (_, sent) => {
		for (const pieces of cutsOf(sent)) expect(writeAll(pieces)).toEqual({ text: sent, state: "broken" });
		expect(repairedObject(sent)).toBe(sent);
	});

	it("is returned as it is if it has been cut", () => {
		expect(repairedObject("{'a': [1, ")).toBe("{'a': [1, ");
	});

	it.each(["", " ", "null", '"text"', "[1, 2,]", "Oslo"])("is no object: %j", (sent) => {
		const { text, state } = writeAll([sent]);
		expect([text, ["empty", "other"].includes(state)]).toEqual([sent, true]);
		expect(repairedObject(sent)).toBe(sent);
	});
});
