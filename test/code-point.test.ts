import fc from "fast-check";
import { expect, it } from "vitest";
import { codePoint } from "./code-point.ts";

const ends = ["\u{0}", "a", "\u{d7ff}", "\u{e000}", "\u{10ffff}"];

it("has the code points from both ends, and those beside the surrogates", () => {
	for (const character of ends) expect(codePoint.canShrinkWithoutContext(character)).toBe(true);
	for (const other of ["\u{d800}", "\u{dfff}", "ab", ""])
		expect(codePoint.canShrinkWithoutContext(other)).toBe(false);
});

it("makes strings of whole characters, and sometimes names of an object's own members", () => {
	const texts = fc.sample(fc.string({ unit: codePoint }), { numRuns: 4_000, seed: 1 });
	expect(texts.every((text) => text.isWellFormed())).toBe(true);
	expect(texts.some((text) => /[\u{10000}-\u{10ffff}]/u.test(text))).toBe(true);
	expect(texts.some((text) => text.includes("__proto__"))).toBe(true);
});
