import { describe, expect, it } from "vitest";
import * as z from "zod";
import { READERS as readers, WRITERS as writers } from "../../../src/dialects/families.ts";
import type { Transcript } from "../../../src/tasks/speech-recognition/types.ts";
import { productModel, read, refusal, write } from "../read-write.ts";
import { base64, latin1, wav } from "../samples.ts";

const whisper = productModel("@cf/openai/whisper");
const turbo = productModel("@cf/openai/whisper-large-v3-turbo");
const nova = productModel("@cf/deepgram/nova-3");
const flux = productModel("@cf/deepgram/flux");
const audio = { bytes: wav(), contentType: "audio/wav" };

const transcript: Transcript = {
	text: "Hello there. Bye.",
	language: "english",
	duration: 3.2,
	segments: [
		{
			start: 0,
			end: 1.5,
			text: " Hello there.",
			temperature: 0,
			avg_logprob: -0.2,
			compression_ratio: 0.9,
			no_speech_prob: 0.01,
		},
		{ start: 2, end: 3, text: " Bye." },
	],
	words: [
		{ word: " Hello", start: 0, end: 0.5, confidence: 0.9 },
		{ word: " there.", start: 0.6, end: 1.5, confidence: 0.7 },
		{ word: " Bye.", start: 2, end: 3 },
	],
};
const timedWords = [
	{ word: "Hello", start: 0, end: 0.5 },
	{ word: "there.", start: 0.6, end: 1.5 },
	{ word: "Bye.", start: 2, end: 3 },
];
const vtt = "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello there.\n\n00:00:02.000 --> 00:00:03.000\nBye.\n";

describe("whisper-binary", () => {
	const reader = readers["whisper-binary"];

	it("accepts the audio as the body, or a list of bytes", () => {
		expect(reader.body).toEqual({ field: "audio", as: "raw" });
		for (const sent of [wav(), [...wav()], { body: wav(), contentType: "audio/wav" }])
			expect(read(reader, whisper, { audio: sent }).call).toEqual({
				task: "speech-recognition",
				input: { audio, task: "transcribe" },
			});
	});

	it("translates from another language into English", () => {
		const request = (languages: object) => read(reader, whisper, { audio: wav(), ...languages }).call.input;
		expect(request({ source_lang: "de", target_lang: "EN" })).toMatchObject({
			task: "translate",
			language: "de",
		});
		expect(request({ target_lang: "english" })).toMatchObject({ task: "translate" });
		expect(request({ source_lang: "English", target_lang: "en" })).toMatchObject({
			task: "transcribe",
			language: "en",
		});
		expect(request({ source_lang: "de", target_lang: "de" })).toMatchObject({ task: "transcribe" });
		expect(() => request({ target_lang: "fr" })).toThrow("8001: Invalid input: 'target_lang' must be 'en'");
	});

	it("refuses invalid audio", () => {
		expect(refusal(reader, whisper, {})).toBe("Error: required properties at '/' are 'audio'");
		expect(refusal(reader, whisper, { audio: base64(wav()) })).toBe(
			"Error: Type mismatch of '/audio', 'array' not in 'string'",
		);
		for (const sent of [[], new Uint8Array(), latin1("text")])
			expect(() => read(reader, whisper, { audio: sent })).toThrow("8001: Invalid input");
	});
});

describe("whisper-b64", () => {
	const reader = readers["whisper-b64"];

	it("accepts base64, or a body with its type", () => {
		expect(reader.body).toEqual({ field: "audio", as: "wrapped" });
		for (const sent of [base64(wav()), { body: wav(), contentType: "audio/wav" }])
			expect(read(reader, turbo, { audio: sent }).call).toEqual({
				task: "speech-recognition",
				input: { audio, task: "transcribe" },
			});
	});

	it("reads the task, the language and the prompt", () => {
		const options = { task: "translate", language: "de", initial_prompt: "Aare, Emme" };
		expect(read(reader, turbo, { audio: base64(wav()), ...options, vad_filter: true }).call.input).toEqual({
			extensions: { vad_filter: true },
			audio,
			task: "translate",
			language: "de",
			prompt: "Aare, Emme",
		});
	});

	it("has the catalogue's defaults", () => {
		expect(read(reader, turbo, { audio: base64(wav()) }).inputs).toMatchObject({
			task: "transcribe",
			vad_filter: false,
			beam_size: 5,
			log_prob_threshold: -1,
		});
	});

	it("refuses other inputs, with the product's errors", () => {
		expect(refusal(reader, turbo, { audio: [1, 2] })).toMatch(/^Error: Type mismatch of '\/audio'/);
		expect(refusal(reader, turbo, { audio: base64(wav()), task: "sing" })).toMatch(/'\/task'/);
		expect(refusal(reader, turbo, { audio: { body: base64(wav()), contentType: "audio/wav" } })).toBe(
			"Error: required properties at '/audio' are 'body,contentType'",
		);
		for (const audio of ["no-base64!", `data:audio/wav;base64,${base64(wav())}`])
			expect(() => read(reader, turbo, { audio })).toThrow(/^8001: Invalid input$/);
		expect(() => read(reader, turbo, { audio: base64(latin1("not audio")) })).toThrow("8001: Invalid input");
		expect(() => read(reader, turbo, { audio: "" })).toThrow("8001: Invalid input");
	});
});

describe("asr-nova", () => {
	const reader = readers["asr-nova"];
	const sent = { body: wav(), contentType: "audio/wav" };

	it("accepts only a body with its type", () => {
		expect(reader.body).toEqual({ field: "audio", as: "wrapped", query: true });
		expect(read(reader, nova, { audio: sent }).call).toEqual({
			task: "speech-recognition",
			input: { audio, task: "transcribe" },
		});
		expect(refusal(reader, nova, { audio: { body: base64(wav()), contentType: "audio/wav" } })).toBe(
			"Error: required properties at '/audio' are 'body,contentType'",
		);
	});

	it("accepts samples without a header", () => {
		const raw = { body: new Uint8Array([128, 127]), contentType: "audio/L16" };
		expect(read(reader, nova, { audio: raw, encoding: "linear16" }).call.input).toMatchObject({
			audio: { bytes: raw.body, contentType: "audio/L16" },
		});
	});

	it("reads key terms and keywords as the prompt", () => {
		expect(
			read(reader, nova, { audio: sent, language: "de", keyterm: ["Emme", "Aare"], keywords: "Bern:2.5" })
				.call.input,
		).toMatchObject({ language: "de", prompt: "Emme, Aare, Bern" });
	});

	it("accepts numbers as text, as in a query string", () => {
		expect(read(reader, nova, { audio: sent, channels: "2", utt_split: 0.8 }).call.task).toBe(
			"speech-recognition",
		);
		expect(refusal(reader, nova, { audio: sent, channels: "two" })).toBe(
			"Error: Type mismatch of '/channels', 'number' not in 'string'",
		);
	});

	it("has no language if it is to be detected; flags may be text", () => {
		for (const detect_language of [true, "true"])
			expect(
				read(reader, nova, { audio: sent, language: "de", detect_language }).call.input,
			).not.toHaveProperty("language");
		expect(
			read(reader, nova, { audio: sent, language: "de", detect_language: "false" }).call.input,
		).toMatchObject({
			language: "de",
		});
		expect(refusal(reader, nova, { audio: sent, diarize: "yes" })).toBe(
			"Error: Type mismatch of '/diarize', 'boolean' not in 'string'",
		);
		expect(refusal(reader, nova, { audio: sent, mode: "legal" })).toBe(
			"Error: enum value not in general,medical,finance at '/mode'",
		);
	});
});

describe("asr-flux-ws", () => {
	const reader = readers["asr-flux-ws"];

	it("requires a websocket, for any inputs", () => {
		for (const inputs of [
			{},
			{ encoding: "linear16", sample_rate: "16000" },
			{ audio: { body: wav(), contentType: "audio/wav" } },
		])
			expect(() => read(reader, flux, inputs)).toThrow(
				"3003: Request is missing headers or body: Upgrade: websocket",
			);
	});

	it("has the schema of the websocket's inputs", () => {
		expect(z.toJSONSchema(reader.schema(flux), { io: "input", unrepresentable: "any" })).toMatchObject({
			required: ["encoding", "sample_rate"],
			properties: { eot_threshold: { default: "0.7" } },
		});
	});
});

describe("transcription", () => {
	const parsed = read(readers["whisper-binary"], whisper, { audio: wav() });
	const writer = writers.transcription;

	it("has the text, the words and the subtitles", () => {
		expect(write(writer, parsed, "speech-recognition", transcript)).toEqual({
			kind: "json",
			value: { text: transcript.text, word_count: 3, words: timedWords, vtt },
		});
	});

	it("omits fields without times", () => {
		expect(write(writer, parsed, "speech-recognition", { text: "Hello there" })).toEqual({
			kind: "json",
			value: { text: "Hello there", word_count: 2 },
		});
	});

	it("refuses another task's answer", () => {
		expect(() => write(writer, parsed, "image-to-text", { description: "a fox" })).toThrow("5001");
	});
});

describe("transcription-v3", () => {
	const writer = writers["transcription-v3"];
	const transcribed = (inputs: object, output: Transcript) =>
		write(
			writer,
			read(readers["whisper-b64"], turbo, { audio: base64(wav()), ...inputs }),
			"speech-recognition",
			output,
		);

	it("has the segments with their metrics and words", () => {
		expect(transcribed({}, transcript)).toEqual({
			kind: "json",
			value: {
				transcription_info: { language: "en", duration: 3.2, duration_after_vad: 3.2 },
				text: transcript.text,
				word_count: 3,
				segments: [
					{ ...transcript.segments?.[0], words: timedWords.slice(0, 2) },
					{ ...transcript.segments?.[1], words: timedWords.slice(2) },
				],
				vtt,
			},
		});
	});

	it("has a probability for a requested language, and no unknown duration", () => {
		expect(transcribed({ language: "en", vad_filter: true }, transcript)).toMatchObject({
			value: { transcription_info: { language: "en", language_probability: 1, duration: 3.2 } },
		});
		expect(transcribed({ vad_filter: true }, transcript)).not.toHaveProperty(
			"value.transcription_info.duration_after_vad",
		);
		expect(transcribed({ vad_filter: true }, { ...transcript, duration_after_vad: 2.5 })).toHaveProperty(
			"value.transcription_info.duration_after_vad",
			2.5,
		);
		expect(transcribed({}, { text: "Hi" })).toEqual({
			kind: "json",
			value: { transcription_info: {}, text: "Hi", word_count: 1 },
		});
	});

	it("groups words to segments if the engine has none", () => {
		const { segments: _, ...wordsOnly } = transcript;
		expect(transcribed({}, wordsOnly)).toMatchObject({
			value: {
				segments: [
					{ start: 0, end: 1.5, text: "Hello there.", words: timedWords.slice(0, 2) },
					{ start: 2, end: 3, text: "Bye.", words: timedWords.slice(2) },
				],
				vtt,
			},
		});
	});
});

describe("deepgram-results", () => {
	const parsed = read(readers["asr-nova"], nova, { audio: { body: wav(), contentType: "audio/wav" } });
	const writer = writers["deepgram-results"];

	it("has one alternative of one channel", () => {
		expect(write(writer, parsed, "speech-recognition", transcript)).toEqual({
			kind: "json",
			value: {
				results: {
					channels: [
						{
							alternatives: [
								{
									confidence: 0.8,
									transcript: transcript.text,
									words: [
										{ word: "Hello", start: 0, end: 0.5, confidence: 0.9 },
										{ word: "there.", start: 0.6, end: 1.5, confidence: 0.7 },
										{ word: "Bye.", start: 2, end: 3 },
									],
								},
							],
						},
					],
				},
			},
		});
	});

	it("has no confidence if the engine has none", () => {
		expect(write(writer, parsed, "speech-recognition", { text: "Hi" })).toEqual({
			kind: "json",
			value: { results: { channels: [{ alternatives: [{ transcript: "Hi", words: [] }] }] } },
		});
	});

	it("has confidence 0 for silence", () => {
		expect(write(writer, parsed, "speech-recognition", { text: "", words: [] })).toEqual({
			kind: "json",
			value: { results: { channels: [{ alternatives: [{ confidence: 0, transcript: "", words: [] }] }] } },
		});
	});
});

describe("schemas", () => {
	it("match the written values", () => {
		const parsed = read(readers["whisper-b64"], turbo, { audio: base64(wav()) });
		for (const writer of [writers.transcription, writers["transcription-v3"], writers["deepgram-results"]]) {
			const rendered = write(writer, parsed, "speech-recognition", transcript);
			// Parsing drops fields that the schema does not have.
			expect({
				kind: "json",
				value: (writer.schema as z.ZodType).parse(Reflect.get(rendered, "value")),
			}).toEqual(rendered);
		}
	});
});
