import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countTokens, tokenize } from "../../../src/backends/simulator/tokens.ts";
import { codePoint } from "../../code-point.ts";

describe("the tokenizer", () => {
	it.each<[string, string[]]>([
		["", []],
		["Hello, world!", ["Hello", ",", " world", "!"]],
		["internationalization", ["interna", "tionali", "zation"]],
		["12345.6", ["123", "45", ".", "6"]],
		["你好 世界", ["你", "好", " 世", "界"]],
		["a\n\n  b", ["a", "\n\n  ", "b"]],
		["x => {}", ["x", " =>", " {}"]],
	])("cuts %j", (text, pieces) => expect(tokenize(text)).toEqual(pieces));

	it("keeps all characters, also lone surrogates", () => {
		fc.assert(
			fc.property(fc.string({ unit: codePoint }), fc.string({ unit: "grapheme" }), (a, b) => {
				const text = `${a}${b}\ud800 ${b}`;
				expect(tokenize(text).join("")).toBe(text);
			}),
		);
	});

	it("counts English at about 1.25 tokens a word", () => {
		const text =
			"Ganglia are clusters of neurons at the edge of the nervous system. They relay what they hear, and sometimes answer by themselves.";
		expect(text.split(" ")).toHaveLength(22);
		expect(countTokens(text)).toBe(28);
	});

	it("counts a megabyte in less than a second", () => {
		const started = performance.now();
		expect(countTokens("lorem ipsum ".repeat(90_000))).toBe(180_001);
		expect(performance.now() - started).toBeLessThan(1000);
	});
});
