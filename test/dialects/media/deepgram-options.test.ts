/** Options of nova-3 that arrange or search the transcript, with words as engines report them. */
import { describe, expect, it } from "vitest";
import { READERS as readers, WRITERS as writers } from "../../../src/dialects/families.ts";
import type { Transcript } from "../../../src/tasks/speech-recognition/types.ts";
import { productModel, read, write } from "../read-write.ts";
import { wav } from "../samples.ts";

const NOVA = productModel("@cf/deepgram/nova-3");
const reader = readers["asr-nova"];
const audio = { body: wav(), contentType: "audio/wav" };

const TRANSCRIPT: Transcript = {
	text: "Call Acme now. Thank you. Bye.",
	language: "english",
	words: [
		{ word: " Call", start: 0, end: 0.3, confidence: 0.5 },
		{ word: " Acme", start: 0.3, end: 0.7, confidence: 1 },
		{ word: " now.", start: 0.8, end: 1, confidence: 0.9 },
		{ word: " Thank", start: 1.2, end: 1.4, confidence: 1 },
		{ word: " you.", start: 1.4, end: 1.6, confidence: 1 },
		{ word: " Bye.", start: 3, end: 3.5, confidence: 1 },
	],
};

interface Results {
	channels: {
		alternatives: [{ transcript: string; words: { word: string }[]; paragraphs?: object }];
		search?: object;
	}[];
	utterances?: { transcript: string; start: number; end: number; words: object[]; id: string }[];
}

function results(options: object, transcript: Transcript = TRANSCRIPT): Results {
	const sent = { audio, ...options };
	const parsed = read(reader, NOVA, sent);
	const rendered = write(writers["deepgram-results"], parsed, "speech-recognition", transcript);
	return (rendered as { value: { results: Results } }).value.results;
}

describe("a transcript without options", () => {
	it("has one channel with words", () => {
		const { channels, ...others } = results({});
		expect(others).toEqual({});
		expect(Object.keys(channels[0] ?? {})).toEqual(["alternatives"]);
		expect(channels[0]?.alternatives[0]?.words[0]).toEqual({
			word: "Call",
			start: 0,
			end: 0.3,
			confidence: 0.5,
		});
	});
});

describe("utterances", () => {
	it("end at a silence of 0.8 seconds, or of the requested length", () => {
		const spans = (options: object) =>
			results({ utterances: true, ...options }).utterances?.map(({ transcript, start, end }) => [
				transcript,
				start,
				end,
			]);
		expect(spans({})).toEqual([
			["Call Acme now. Thank you.", 0, 1.6],
			["Bye.", 3, 3.5],
		]);
		expect(spans({ utt_split: "0.1" })).toEqual([
			["Call Acme", 0, 0.7],
			["now.", 0.8, 1],
			["Thank you.", 1.2, 1.6],
			["Bye.", 3, 3.5],
		]);
		expect(spans({ utt_split: 2 })).toEqual([["Call Acme now. Thank you. Bye.", 0, 3.5]]);
	});

	it("have an id, a channel, and the mean of the confidences; none for silence", () => {
		expect(results({ utterances: "true" }).utterances?.[1]).toEqual({
			start: 3,
			end: 3.5,
			confidence: 1,
			channel: 0,
			transcript: "Bye.",
			words: [{ word: "Bye.", start: 3, end: 3.5, confidence: 1 }],
			id: "uuid",
		});
		expect(results({ utterances: true }, { text: "" }).utterances).toEqual([]);
	});

	it("end where the speaker changes", () => {
		const words = (TRANSCRIPT.words ?? []).map((word, index) => ({ ...word, speaker: index < 3 ? 0 : 1 }));
		const { utterances, channels } = results({ utterances: true, diarize: true }, { ...TRANSCRIPT, words });
		expect(utterances).toMatchObject([
			{ transcript: "Call Acme now.", speaker: 0 },
			{ transcript: "Thank you.", speaker: 1 },
			{ transcript: "Bye.", speaker: 1 },
		]);
		expect(channels[0]?.alternatives[0]?.words[4]).toMatchObject({ word: "you.", speaker: 1 });
	});
});

it("paragraphs have sentences with times", () => {
	expect(results({ paragraphs: true }).channels[0]?.alternatives[0]?.paragraphs).toEqual({
		transcript: "\nCall Acme now. Thank you.\n\nBye.",
		paragraphs: [
			{
				sentences: [
					{ text: "Call Acme now.", start: 0, end: 1 },
					{ text: "Thank you.", start: 1.2, end: 1.6 },
				],
				num_words: 5,
				start: 0,
				end: 1.6,
			},
			{ sentences: [{ text: "Bye.", start: 3, end: 3.5 }], num_words: 1, start: 3, end: 3.5 },
		],
	});
});

it("a search has each place of its terms, whatever their case and punctuation", () => {
	const { channels } = results({ search: ["acme now", "THANK", "goodbye", " "] });
	expect(channels[0]?.search).toEqual([
		{ query: "acme now", hits: [{ confidence: 0.95, start: 0.3, end: 1, snippet: "Acme now." }] },
		{ query: "THANK", hits: [{ confidence: 1, start: 1.2, end: 1.4, snippet: "Thank" }] },
		{ query: "goodbye", hits: [] },
		{ query: " ", hits: [] },
	]);
});

describe("a replacement", () => {
	it.each([
		["acme:Example & Sons", "Call Example & Sons now. Thank you. Bye."],
		[["call:Phone", "you:$&"], "Phone Acme now. Thank $&. Bye."],
		["acm:x", TRANSCRIPT.text],
		["Acme:", "Call now. Thank you. Bye."],
		["now.:soon.", "Call Acme soon. Thank you. Bye."],
		[":x", TRANSCRIPT.text],
	])("of %j", (replace, text) => {
		const [alternative] = results({ replace }).channels[0]?.alternatives ?? [];
		expect(alternative?.transcript).toBe(text);
		expect(alternative?.words.map(({ word }) => word).join(" ")).toBe(text);
	});
});

it("a detected language is named", () => {
	expect(results({ detect_language: "true" }).channels[0]).toMatchObject({ detected_language: "en" });
	expect(results({ detect_language: false }).channels[0]).not.toHaveProperty("detected_language");
});

it("results of the service's own analysis are in the answer", () => {
	const analysis = { summary: { result: "success", short: "A call." } };
	expect(results({}, { ...TRANSCRIPT, analysis })).toMatchObject(analysis);
});

it("options of the engine are extensions, and those of the gateway are not", () => {
	const { call } = read(reader, NOVA, {
		audio,
		diarize: true,
		topics: "true",
		utterances: true,
		search: "x",
	});
	expect(call.input).toMatchObject({ extensions: { diarize: true, topics: "true" } });
	expect(Object.keys((call.input as { extensions: object }).extensions)).toHaveLength(2);
});
