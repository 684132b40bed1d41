import { describe, expect, it, vi } from "vitest";
import { boundedTokens } from "../../src/counting/bounded-estimate.ts";
import { approximateTokens, TokenCount } from "../../src/counting/token-estimate.ts";

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
