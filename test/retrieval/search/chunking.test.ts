/** Chunks of texts: their size, their overlap, and their places in bytes. */
import { describe, expect, it } from "vitest";
import { approximateTokens } from "../../../src/counting/token-estimate.ts";
import { chunksOf } from "../../../src/retrieval/search/chunking.ts";

const words = (name: string, count: number): string =>
	Array.from({ length: count }, (_, at) => `${name}${at}`).join(" ");
const chunks = (text: string, tokens = 64, overlapPercent = 0) => {
	const found = chunksOf(text, { tokens, overlapPercent });
	if (!found) throw new Error("too many chunks");
	return found;
};

describe("chunks", () => {
	it.each([
		["paragraphs", ["alpha", "bravo", "charlie"].map((name) => words(name, 30)).join("\n\n")],
		["sentences", Array.from({ length: 40 }, (_, at) => `This is the sentence ${at}.`).join(" ")],
		["one word", "x".repeat(2_000)],
		["characters without spaces", "漢字🙂".repeat(300)],
		["text of several bytes", "Grüße aus Köln. ".repeat(100)],
		["lines", Array.from({ length: 300 }, (_, at) => `line ${at}`).join("\n")],
	])("of %s have at most their tokens, and cover the text", (_, text) => {
		for (const overlap of [0, 10, 30]) {
			const found = chunks(text, 64, overlap);
			expect(found.length).toBeGreaterThan(1);
			const bytes = Buffer.from(text);
			let end = 0;
			for (const chunk of found) {
				expect(approximateTokens([chunk.text])).toBeLessThanOrEqual(70);
				expect(bytes.subarray(chunk.start, chunk.end).toString()).toBe(chunk.text);
				expect(bytes.subarray(end, Math.max(end, chunk.start)).toString().trim()).toBe("");
				end = Math.max(end, chunk.end);
			}
			expect(bytes.subarray(end).toString().trim()).toBe("");
		}
	});

	it("end at paragraphs where they can", () => {
		const paragraphs = ["alpha", "bravo", "charlie"].map((name) => words(name, 20));
		expect(chunks(paragraphs.join("\n\n"), 64).map(({ text }) => text)).toEqual(paragraphs);
	});

	it("begin with the end of the one before", () => {
		const [first, second] = chunks(words("word", 200), 64, 30);
		const shared = (first?.end ?? 0) - (second?.start ?? 0);
		expect(shared).toBeGreaterThan(0);
		expect(shared).toBeLessThan((first?.text.length ?? 0) * 0.5);
		expect(second?.text).toMatch(/^word\d+ /);
	});

	it("of an empty text are none, and there is a largest number", () => {
		expect(chunks(" \n\n ")).toEqual([]);
		expect(chunksOf("a\n\n".repeat(50_000), { tokens: 1, overlapPercent: 0 })).toBeUndefined();
	});
});
