import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { placeWords, secondsOf, spokenWords } from "../../../../src/backends/simulator/media/timing.ts";

const wordsOf = (text: string) => spokenWords(text).map((word) => word.text);

describe("words", () => {
	it.each([
		["Hello,  world!\nBye.", ["Hello,", "world!", "Bye."]],
		["你好，世界。OK", ["你", "好，", "世", "界。", "OK"]],
		["カタカナー ひらがな", ["カ", "タ", "カ", "ナ", "ー", "ひ", "ら", "が", "な"]],
		["Привет, мир", ["Привет,", "мир"]],
		["한국어 문장", ["한국어", "문장"]],
		["👋 — !!!", ["👋", "—", "!!!"]],
		["", []],
		[" \n\t", []],
	])("of %j", (text, words) => {
		expect(wordsOf(text)).toEqual(words);
	});

	it("cover all of a text but its spaces", () => {
		fc.assert(
			fc.property(fc.string({ unit: "grapheme" }), (text) => {
				const words = spokenWords(text);
				expect(words.map((word) => word.text).join("")).toBe(text.replace(/\s/g, ""));
				for (const { text: word, from, to } of words) expect(text.slice(from, to)).toBe(word);
			}),
		);
	});
});

describe("time", () => {
	it("is 0.1 s a word and 0.055 s a letter, with pauses for commas and sentences", () => {
		expect(spokenWords("Well, done.")).toMatchObject([
			{ seconds: 0.1 + 4 * 0.055, pause: 0.15, endsSentence: false },
			{ seconds: 0.1 + 4 * 0.055, pause: 0.35, endsSentence: true },
		]);
	});

	it("comes to about 150 words of English a minute", () => {
		const text =
			"Ganglia are clusters of neurons at the edge of the nervous system, outside the brain. They gather signals, " +
			"weigh them, and answer at once where an answer is needed at once. What needs more thought is passed on.";
		const rate = spokenWords(text).length / (secondsOf(spokenWords(text)) / 60);
		expect(rate).toBeGreaterThan(135);
		expect(rate).toBeLessThan(165);
	});

	it.each(["?", "…", "。", "؟", '."', ".)"])("knows the end of a sentence: %s", (end) => {
		expect(spokenWords(`word${end}`)[0]?.endsSentence).toBe(true);
	});

	it("places words in order, and fills the duration", () => {
		fc.assert(
			fc.property(
				fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => text.trim() !== ""),
				fc.double({ min: 0.01, max: 100, noNaN: true }),
				(text, duration) => {
					let clock = 0;
					for (const { start, end } of placeWords(spokenWords(text), duration)) {
						expect(start).toBeGreaterThanOrEqual(clock);
						expect(end).toBeGreaterThan(start);
						clock = end;
					}
					expect(clock).toBeLessThanOrEqual(duration * (1 + 1e-9));
				},
			),
		);
	});
});
