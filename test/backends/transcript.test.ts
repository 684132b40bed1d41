import { expect, it } from "vitest";
import { transcriptOf } from "../../src/backends/transcript.ts";

const word = { word: "a", start: 0, end: 1 };
const segment = { start: 0, end: 1, text: "a" };

it("has what the engine sent, of the fields that callers know", () => {
	const measures = { temperature: 0, avg_logprob: -0.5, compression_ratio: 1.5, no_speech_prob: 0.1 };
	const words = [
		{ ...word, confidence: 0 },
		{ ...word, probability: 1 },
	];
	expect(
		transcriptOf({
			text: "a",
			language: "en",
			duration: 0,
			segments: [{ ...segment, ...measures, id: 7, words: [word] }],
			words,
		}),
	).toStrictEqual({
		text: "a",
		language: "en",
		duration: 0,
		segments: [{ ...segment, ...measures }],
		words: [{ ...word, confidence: 0 }, word],
	});
});

it("omits what the engine omitted, or sent as null", () => {
	expect(transcriptOf({ text: "" })).toStrictEqual({ text: "" });
	const nothing = { language: null, duration: null, segments: null, words: null };
	expect(transcriptOf({ text: "a", ...nothing })).toStrictEqual({ text: "a" });
	expect(transcriptOf({ text: "a", language: "", segments: [], words: [] })).toStrictEqual({
		text: "a",
		segments: [],
		words: [],
	});
	const bare = { ...segment, temperature: null, avg_logprob: undefined };
	expect(transcriptOf({ text: "a", segments: [bare], words: [{ ...word, confidence: null }] })).toStrictEqual(
		{
			text: "a",
			segments: [segment],
			words: [word],
		},
	);
});
