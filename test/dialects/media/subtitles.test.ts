import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cuesOf, subRip, webVtt } from "../../../src/dialects/media/subtitles.ts";
import type { Transcript } from "../../../src/tasks/speech-recognition/types.ts";

const words = (...times: [word: string, start: number, end: number][]): Transcript["words"] =>
	times.map(([word, start, end]) => ({ word, start, end }));

describe("cuesOf", () => {
	it("makes one cue per segment, with its words", () => {
		const transcript = {
			text: "Hello there. Bye.",
			segments: [
				{ start: 0, end: 1.5, text: " Hello there." },
				{ start: 2, end: 3, text: " Bye." },
			],
			words: words(["Hello", 0, 0.5], ["there.", 0.6, 1.5], ["Bye.", 2, 3]),
		};
		expect(cuesOf(transcript)).toEqual([
			{
				start: 0,
				end: 1.5,
				text: "Hello there.",
				words: transcript.words?.slice(0, 2),
				segment: transcript.segments[0],
			},
			{ start: 2, end: 3, text: "Bye.", words: transcript.words?.slice(2), segment: transcript.segments[1] },
		]);
	});

	it("ends cues of words without segments at sentences, at pauses, and at their maximum length", () => {
		const timed = (transcript: Transcript) =>
			cuesOf(transcript).map(({ start, end, text }) => [start, end, text]);
		expect(
			timed({ text: "", words: words(["One.", 0, 1], ["Two", 1, 2], ["three", 3.5, 4], ["four", 4, 10]) }),
		).toEqual([
			[0, 1, "One."],
			[1, 2, "Two"],
			[3.5, 4, "three"],
			[4, 10, "four"],
		]);
		expect(timed({ text: "", words: words(["a".repeat(50), 0, 1], ["b".repeat(50), 1, 2]) })).toHaveLength(2);
	});

	it("joins words with leading spaces unchanged", () => {
		expect(cuesOf({ text: "", words: words([" It", 0, 1], ["'s", 1, 2], [" me", 2, 3]) })[0]?.text).toBe(
			"It's me",
		);
	});

	it("makes one cue of a duration, and none without a duration", () => {
		expect(cuesOf({ text: "Hello", duration: 2 })).toEqual([{ start: 0, end: 2, text: "Hello", words: [] }]);
		expect(cuesOf({ text: "Hello" })).toEqual([]);
		expect(cuesOf({ text: "", segments: [{ start: 0, end: 1, text: "  " }] })).toEqual([]);
	});
});

describe("webVtt", () => {
	it("writes times with hours and milliseconds, and escapes the text", () => {
		const cues = cuesOf({
			text: "",
			segments: [
				{ start: 0, end: 1.2345, text: "a --> b\n\n& <i>" },
				{ start: 3661.5, end: 360_000, text: "c" },
			],
		});
		expect(webVtt(cues)).toBe(
			"WEBVTT\n\n00:00:00.000 --> 00:00:01.235\na --&gt; b &amp; &lt;i&gt;\n\n01:01:01.500 --> 100:00:00.000\nc\n",
		);
		expect(webVtt([])).toBe("WEBVTT\n");
	});

	it("is well formed for every transcript: blocks of a time line and a text line, sorted by start", () => {
		const seconds = fc.double({ min: -10, max: 100_000, noNaN: true });
		const segment = fc.record({ start: seconds, end: seconds, text: fc.string() });
		fc.assert(
			fc.property(fc.array(segment), (segments) => {
				const [head, ...blocks] = webVtt(cuesOf({ text: "", segments }))
					.trimEnd()
					.split("\n\n");
				expect(head).toBe("WEBVTT");
				let latest = "";
				for (const block of blocks) {
					const [time, text, ...endings] = block.split("\n");
					const [, start = "", end = ""] =
						/^(\d{2,}:\d\d:\d\d\.\d{3}) --> (\d{2,}:\d\d:\d\d\.\d{3})$/.exec(time ?? "") ?? [];
					expect(end > start && start >= latest, time).toBe(true);
					latest = start;
					expect(text?.trim()).toBeTruthy();
					expect(text).not.toContain("-->");
					expect(endings).toEqual([]);
				}
				expect(blocks).toHaveLength(segments.filter(({ text }) => text.trim() !== "").length);
			}),
		);
	});
});

describe("subRip", () => {
	it("numbers its cues and uses a decimal comma", () => {
		const segments = [
			{ start: 0, end: 1, text: "a" },
			{ start: 1, end: 2.5, text: "b" },
		];
		expect(subRip(cuesOf({ text: "", segments }))).toBe(
			"1\n00:00:00,000 --> 00:00:01,000\na\n\n2\n00:00:01,000 --> 00:00:02,500\nb\n",
		);
	});
});
