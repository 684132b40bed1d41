import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat } from "../../src/media/bytes.ts";
import { decodeStrictUtf8, decodeUtf8, Utf8Pieces } from "../../src/media/utf8.ts";

/** More than the length from which a text is decoded in another way. */
const LARGE = 1_100_000;
const encoder = new TextEncoder();
const MARK = Uint8Array.of(0xef, 0xbb, 0xbf);

/** Characters of one to four bytes, marks, surrogates, overlong forms, and characters that are cut off. */
const Piece = fc.oneof(
	fc.string({ unit: "binary", maxLength: 20 }).map((text) => encoder.encode(text)),
	fc.uint8Array({ maxLength: 8 }),
	fc.constantFrom(
		...[
			[...MARK],
			[0xed, 0xa0, 0x80],
			[0xc0, 0x80],
			[0xf0, 0x9f, 0x98],
			[0xe6, 0xbc],
			[0xf4, 0x90, 0x80, 0x80],
		].map((bytes) => Uint8Array.from(bytes)),
	),
);

/** A large text that begins and ends with these bytes. */
function large(pieces: readonly Uint8Array[], filling: string): Uint8Array {
	const ends = concat(pieces);
	return concat([ends, encoder.encode(filling.repeat(LARGE / filling.length)), ends]);
}

describe.each(["word ", "漢字", "über "])("a text with '%s'", (filling) => {
	it("is what the platform's decoder makes of it, whatever is before and after", () => {
		fc.assert(
			fc.property(fc.array(Piece, { maxLength: 6 }), (pieces) => {
				const bytes = large(pieces, filling);
				expect(decodeUtf8(bytes) === new TextDecoder().decode(bytes)).toBe(true);
			}),
			{ numRuns: 4 },
		);
	});

	it("is decoded strictly, or refused as by the platform's decoder", () => {
		fc.assert(
			fc.property(fc.array(Piece, { maxLength: 2 }), (pieces) => {
				const bytes = large(pieces, filling);
				const expected = outcome(() =>
					new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes),
				);
				expect(outcome(() => decodeStrictUtf8(bytes)) === expected).toBe(true);
			}),
			{ numRuns: 4 },
		);
	});
});

const REFUSED = "refused";
function outcome(decode: () => string): string {
	try {
		return decode();
	} catch (error) {
		expect(error).toBeInstanceOf(TypeError);
		return REFUSED;
	}
}

describe("a large text", () => {
	const text = "ü".repeat(LARGE);

	it("of a view is the view's", () => {
		const bytes = encoder.encode(`ab${text}c`);
		expect(decodeUtf8(bytes.subarray(2, -1)) === text).toBe(true);
		expect(decodeStrictUtf8(bytes.subarray(2, -1)) === text).toBe(true);
	});

	it("in pieces of any size is the whole text", () => {
		const bytes = concat([MARK, encoder.encode(`a${text}`), Uint8Array.of(0xf0, 0x9f)]);
		const pieces = new Utf8Pieces();
		const [first, last] = [bytes.subarray(0, -5), bytes.subarray(-5)];
		expect(pieces.decode(first) + pieces.decode(last) + pieces.end() === `a${text}\ufffd`).toBe(true);
		expect(pieces.decode(bytes) + pieces.end() === `a${text}\ufffd`).toBe(true);
	});

	it("loses its byte order mark, and only one", () => {
		const bytes = concat([MARK, MARK, encoder.encode(text)]);
		expect(decodeUtf8(bytes) === `\ufeff${text}`).toBe(true);
		expect(decodeStrictUtf8(bytes) === `\ufeff${text}`).toBe(true);
	});
});
