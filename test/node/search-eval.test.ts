/** The corpus and the measures of `npm run eval:search`. */
import { describe, expect, it } from "vitest";
import { corpusPages, corpusQuestions, QUESTION_KINDS } from "../../tools/search/corpus.ts";
import { meanOf, scoresOf } from "../../tools/search/metrics.ts";

describe("the corpus", () => {
	it("has pages with different keys, and questions that pages of it answer", () => {
		const pages = corpusPages();
		const keys = new Set(pages.map(({ key }) => key));
		expect([pages.length, keys.size]).toEqual([520, 520]);
		expect(new Set(pages.map(({ text }) => text)).size).toBe(520);
		const questions = corpusQuestions();
		expect(questions).toHaveLength(320);
		for (const kind of QUESTION_KINDS)
			expect(questions.filter((question) => question.kind === kind)).toHaveLength(80);
		expect(new Set(questions.map(({ text }) => text)).size).toBe(320);
		for (const { answers, text } of questions) {
			expect(answers.length, text).toBeGreaterThan(0);
			expect(answers.filter((key) => !keys.has(key))).toEqual([]);
		}
	});

	it("is the same at each run, and can be larger", () => {
		expect(corpusPages()[0]).toEqual({
			key: "aldra-110/overview.md",
			text: "# Aldra 110\n\nThe Aldra 110 measures the moisture of soil. It is made for greenhouses, and is delivered with a wall bracket and a cable of two metres.\n\nUnpack the device, and keep the box for a return.",
		});
		expect(corpusQuestions()[0]).toEqual({
			kind: "words",
			text: "fault code E1000",
			answers: ["aldra-110/faults.md"],
		});
		const keys = corpusPages(1_040).map(({ key }) => key);
		expect(new Set(keys).size).toBe(1_040);
	});
});

describe("the measures", () => {
	it("count the first ten, once each", () => {
		const found = ["x", "a", "a", "y", "b"];
		expect(scoresOf({ found, answers: ["a", "b"] })).toEqual({
			recall: 1,
			reciprocalRank: 0.5,
			// (1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3))
			ndcg: expect.closeTo(0.6509, 4),
		});
		const late = [...Array.from({ length: 10 }, (_, index) => `x${index}`), "a"];
		expect(scoresOf({ found: late, answers: ["a"] })).toEqual({ recall: 0, reciprocalRank: 0, ndcg: 0 });
		expect(
			meanOf([
				{ recall: 1, reciprocalRank: 1, ndcg: 1 },
				{ recall: 0, reciprocalRank: 0.5, ndcg: 0 },
			]),
		).toEqual({ recall: 0.5, reciprocalRank: 0.75, ndcg: 0.5 });
	});
});
