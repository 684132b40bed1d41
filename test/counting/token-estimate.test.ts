import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import {
	approximateTokens,
	boundedTokens,
	LongTokenCount,
	TokenCount,
} from "../../src/counting/token-estimate.ts";

const tokens = (text: string): number => approximateTokens([text]);

describe("approximateTokens", () => {
	it.each([
		["", 0],
		["a", 1],
		["Hello, world!", 4],
		["The quick brown fox jumps over the lazy dog.", 10],
		// One space joins the next word; several are one token.
		["one two", 2],
		["one    two", 3],
		// Each part of a camelCase name is a word, and a full stop joins the name after it.
		["readFileSync", 4],
		["text.length", 2],
		[" ", 1],
		["one ", 2],
		// Three digits per token.
		["123456", 2],
		["1234567", 3],
		["人人生而自由,在尊严和权利上一律平等。", 15],
		["すべての人間は、生まれながらにして自由であり", 13],
		["Все люди рождаются свободными", 8],
		["모든 인간은 태어날 때부터 자유로우며", 12],
		// The two halves of a surrogate pair.
		["😀", 2],
		// Joiners and selectors belong to the character before them.
		["\u200d\ufe0f", 0],
	])("%j is %i", (text, expected) => {
		expect(tokens(text)).toBe(expected);
	});

	it("counts each text separately", () => {
		// As one text these would be one word of nine letters.
		expect(approximateTokens(["break", "fast"])).toBe(2);
		expect(approximateTokens([])).toBe(0);
		expect(approximateTokens(["", ""])).toBe(0);
	});
});

/** Texts with all kinds of characters, including unpaired surrogates. */
const text = fc.oneof(
	fc
		.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 200 })
		.map((units) => String.fromCharCode(...units)),
	fc.string({ maxLength: 200 }),
	fc.string({ unit: fc.constantFrom(..."aZé ł9.\n\t(天アあ한Яא\ud83d\ude00"), maxLength: 200 }),
);

describe("TokenCount", () => {
	it("counts the same for any split of a stream", () => {
		fc.assert(
			fc.property(text, fc.array(fc.nat(200), { maxLength: 12 }), (source, cuts) => {
				const count = new TokenCount();
				let from = 0;
				for (const to of [...cuts.sort((a, b) => a - b), source.length]) {
					count.add(source.slice(from, to));
					from = Math.max(from, to);
				}
				expect(count.tokens).toBe(tokens(source));
			}),
		);
	});

	it("can be read at any time without a side effect", () => {
		fc.assert(
			fc.property(fc.array(text, { maxLength: 6 }), (pieces) => {
				const count = new TokenCount();
				for (const piece of pieces) {
					count.add(piece);
					expect(count.tokens).toBe(count.tokens);
				}
				expect(count.tokens).toBe(tokens(pieces.join("")));
			}),
		);
	});

	it("counts the last word before the text ends", () => {
		const count = new TokenCount();
		count.add("éAaaaaaaaa");
		expect(count.tokens).toBe(4);
		count.end();
		expect(count.tokens).toBe(4);
	});

	it("is an integer, and at least 1 for any text that has a visible character", () => {
		fc.assert(
			fc.property(text, (any) => {
				expect(Number.isSafeInteger(tokens(any))).toBe(true);
				expect(tokens(`${any}x`)).toBeGreaterThanOrEqual(1);
			}),
		);
	});

	it("never counts more tokens than the text has bytes, except for rounding", () => {
		fc.assert(
			fc.property(text, (any) => {
				expect(tokens(any)).toBeLessThanOrEqual(new TextEncoder().encode(any).length + 1);
			}),
		);
	});

	it("takes time in proportion to the text", () => {
		const long = "((((a".repeat(200_000);
		expect(tokens(long)).toBeGreaterThan(200_000);
	});
});

const SENTENCE = "The quick brown fox jumps over the lazy dog. ";

describe("boundedTokens", () => {
	it("is the estimate of all texts up to the limit, for any slices", () => {
		const texts = [SENTENCE.repeat(4_000), "naïve café ".repeat(20_000), "x"];
		expect(boundedTokens(texts, 1e9)).toBe(approximateTokens(texts));
		expect(boundedTokens([], 10)).toBe(0);
	});

	it("extrapolates above the limit", () => {
		const texts = [SENTENCE.repeat(100_000), SENTENCE.repeat(100_000)];
		const tokens = boundedTokens(texts, 1_000);
		expect(tokens).toBeGreaterThan(1_000);
		expect(Math.abs(tokens / approximateTokens(texts) - 1)).toBeLessThan(0.01);
	});

	it("stops reading above the limit", () => {
		let read = 0;
		const text = {
			length: 1_000_000_000,
			slice: (from: number, to: number) => {
				read += to - from;
				return "word ".repeat((to - from) / 5);
			},
		} as unknown as string;
		expect(boundedTokens([text], 100_000)).toBeGreaterThan(100_000);
		expect(read).toBeLessThan(1_000_000);
	});

	it("counts at most half a million characters below the limit, from all parts of the texts", () => {
		const add = vi.spyOn(TokenCount.prototype, "add");
		// Dense, sparse, and one endless word of capitals, which is hardly a token.
		const texts = ["的".repeat(1_000_000), " ".repeat(2_000_000), "A".repeat(7_000_000)];
		const tokens = boundedTokens(texts, 1e9);
		const counted = add.mock.calls.reduce((sum, [text]) => sum + text.length, 0);
		add.mockRestore();
		expect(counted).toBeLessThan(505_000);
		// 0.79 for each Han character.
		expect(tokens / 790_000).toBeGreaterThan(0.9);
		expect(tokens / 790_000).toBeLessThan(1.1);
	});

	it("counts at most half a million characters of many texts", () => {
		const add = vi.spyOn(TokenCount.prototype, "add");
		boundedTokens(Array<string>(100_000).fill(SENTENCE), 1e9);
		const counted = add.mock.calls.reduce((sum, [text]) => sum + text.length, 0);
		add.mockRestore();
		expect(counted).toBeLessThan(500_100);
	});
});

describe("LongTokenCount", () => {
	const countOf = (texts: readonly string[]): number => {
		const count = new LongTokenCount();
		for (const text of texts) {
			count.add(text);
			count.end();
		}
		return count.tokens;
	};

	it("is the estimate of all texts up to 500,000 characters", () => {
		const texts = [SENTENCE.repeat(5_000), "naïve café ".repeat(20_000), "x"];
		expect(countOf(texts)).toBe(approximateTokens(texts));
	});

	it.each([
		["one text", [SENTENCE.repeat(100_000)]],
		["many texts", Array<string>(100_000).fill(SENTENCE)],
	])("counts about one of 64 slices of the others: %s", (_, texts) => {
		const add = vi.spyOn(TokenCount.prototype, "add");
		const tokens = countOf(texts);
		const counted = add.mock.calls.reduce((sum, [text]) => sum + text.length, 0);
		add.mockRestore();
		// 500,000 of 4,500,000 characters, and a 64th of the others: 62,500.
		expect(counted).toBeGreaterThan(560_000);
		expect(counted).toBeLessThan(570_000);
		expect(Math.abs(tokens / approximateTokens(texts) - 1)).toBeLessThan(0.01);
	});
});
