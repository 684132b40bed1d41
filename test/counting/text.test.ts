import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codePoints, utf8Length, writeJson } from "../../src/counting/text.ts";

/** Characters of one to four bytes in UTF-8, and unpaired surrogates. */
const characters = fc.string({ unit: fc.constantFrom(..."aé人\u{1f600}", "\ud83d", "\ude00") });

describe("utf8Length", () => {
	it("is the length of the encoded text", () => {
		fc.assert(
			fc.property(characters, (text) => {
				expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
			}),
		);
	});
});

describe("codePoints", () => {
	it("is the length of the spread text", () => {
		fc.assert(
			fc.property(characters, (text) => {
				expect(codePoints(text)).toBe([...text].length);
			}),
		);
	});
});

const written = (value: unknown): string => {
	let text = "";
	writeJson(value, (piece) => {
		text += piece;
	});
	return text;
};

describe("writeJson", () => {
	it("writes a space after each comma and colon, as common templates do", () => {
		expect(written({ a: [1, "x", null, true], b: {}, c: undefined, d: { e: 1.5 } })).toBe(
			'{"a": [1, "x", null, true], "b": {}, "d": {"e": 1.5}}',
		);
	});

	it("writes JSON if no character must be escaped", () => {
		const plain = fc.string({ unit: fc.constantFrom(..."abc é人") });
		const value = fc.letrec((tie) => ({
			value: fc.oneof(
				{ depthSize: "small" },
				plain,
				fc.integer(),
				fc.boolean(),
				fc.constant(null),
				fc.array(tie("value")),
				fc.dictionary(plain, tie("value")),
			),
		})).value;
		fc.assert(
			fc.property(value, (any) => {
				expect(JSON.parse(written(any))).toEqual(any);
			}),
		);
	});
});
