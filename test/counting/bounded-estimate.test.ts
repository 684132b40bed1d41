import { describe, expect, it } from "vitest";
import { boundedTokens } from "../../src/counting/bounded-estimate.ts";
import { approximateTokens } from "../../src/counting/token-estimate.ts";

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
});
