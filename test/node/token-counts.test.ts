import { describe, expect, it } from "vitest";
import { between, error, page, type Sample, samples, table } from "../../scripts/token-counts.ts";

const MOST_BETWEEN = 0.1;
/** Where the two differ by a fifth among themselves. */
const MOST_OF_EITHER = 0.16;
/** Texts on which the two agree. */
const AGREED = ["chat", "chinese", "english", "japanese", "json", "markdown", "python", "sql", "typescript"];

const measured = samples();
const each = measured.map((sample): [string, Sample] => [sample.name, sample]);

describe("token counts, by real tokenizers", () => {
	it("are measured on prose, code, data and chats, in several scripts", () => {
		expect(measured.map(({ name }) => name)).toEqual([
			"chat",
			"chinese",
			"english",
			"french",
			"german",
			"japanese",
			"json",
			"markdown",
			"python",
			"russian",
			"sql",
			"typescript",
		]);
		for (const { characters } of measured) expect(characters).toBeGreaterThan(1_500);
	});

	it.each(each)("of %s are within 10 % of what lies between the two", (_, sample) => {
		expect(Math.abs(error(sample, between(sample)))).toBeLessThan(MOST_BETWEEN);
	});

	it.each(each.filter(([name]) => AGREED.includes(name)))("of %s are within 10 % of each", (_, sample) => {
		expect(Math.abs(error(sample, sample.o200k))).toBeLessThan(MOST_BETWEEN);
		expect(Math.abs(error(sample, sample.llama3))).toBeLessThan(MOST_BETWEEN);
	});

	it.each(each)("of %s are never far from either", (_, sample) => {
		expect(Math.abs(error(sample, sample.o200k))).toBeLessThan(MOST_OF_EITHER);
		expect(Math.abs(error(sample, sample.llama3))).toBeLessThan(MOST_OF_EITHER);
	});

	it("are in the documentation as measured", () => {
		expect(page().measured.trim()).toBe(table(measured));
	});
});
