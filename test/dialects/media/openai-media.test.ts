import { describe, expect, it } from "vitest";
import type { Rendered } from "../../../src/dialects/dialect.ts";
import { type FormPart, MultipartForm } from "../../../src/dialects/media/multipart.ts";
import { openaiImages } from "../../../src/dialects/media/openai-images.ts";
import { openaiSpeech } from "../../../src/dialects/media/openai-speech.ts";
import { openaiTranscription } from "../../../src/dialects/media/openai-transcription.ts";
import type { Transcript } from "../../../src/tasks/speech-recognition/types.ts";
import { productModel, type Read, read, refusal, write } from "../read-write.ts";
import { base64, latin1, png, wav } from "../samples.ts";

const schnell = productModel("@cf/black-forest-labs/flux-1-schnell");
const lucid = productModel("@cf/leonardo/lucid-origin");
const flux2 = productModel("@cf/black-forest-labs/flux-2-dev");
const aura = productModel("@cf/deepgram/aura-1");
const melotts = productModel("@cf/myshell-ai/melotts");
const whisper = productModel("@cf/openai/whisper");

describe("images/generations", () => {
	const { reader, writer } = openaiImages;
	const request = (inputs: object, model = schnell): Read =>
		read(reader, model, { model: model.id, prompt: "a fox", ...inputs });

	it("has the model's own defaults, and PNG as the default format", () => {
		expect(request({}).call).toEqual({
			task: "text-to-image",
			input: { prompt: "a fox", width: 1024, height: 1024, images: [], steps: 4, format: "png" },
		});
		const options = {
			size: "auto",
			n: 1,
			output_format: "jpeg",
			response_format: "b64_json",
			seed: 7,
			quality: "hd",
		};
		expect(request(options, lucid).call.input).toEqual({
			prompt: "a fox",
			width: 1120,
			height: 1120,
			images: [],
			guidance: 4.5,
			seed: 7,
			format: "jpeg",
			extensions: { quality: "hd" },
		});
		expect(
			request({ n: null, size: null, response_format: null, output_format: null }).call.input,
		).toMatchObject({
			width: 1024,
			format: "png",
		});
		expect(request({}, flux2).call.input).toMatchObject({ width: 1024, height: 768, steps: 25 });
	});

	it("reads the size, within the model's range", () => {
		expect(request({ size: "1536x1024" }).call.input).toMatchObject({ width: 1536, height: 1024 });
		expect(refusal(reader, flux2, { model: flux2.id, prompt: "a fox", size: "2048x256" })).toBe(
			"Error: '/size' must be from 256x256 to 1920x1920 for this model",
		);
		expect(refusal(reader, schnell, { model: schnell.id, prompt: "a fox", size: "large" })).toMatch(
			/^Error: '\/size'/,
		);
	});

	it.each([
		[{ n: 2 }, "'/n' must be 1: one image per request"],
		[
			{ response_format: "url" },
			"'/response_format' must be 'b64_json': images are not stored, so there is no 'url'",
		],
		[{ output_format: "webp" }, "'/output_format' must be 'png' or 'jpeg'"],
		[{ stream: true, partial_images: 4 }, "'/partial_images' must be <= 3"],
		[{ prompt: "" }, "Length of '/prompt' must be >= 1 not met"],
	])("refuses %j", (inputs, finding) => {
		expect(refusal(reader, schnell, { model: schnell.id, prompt: "a fox", ...inputs })).toBe(
			`Error: ${finding}`,
		);
	});

	it("answers with the file in base64 and the time in seconds", () => {
		const answer = {
			task: "text-to-image",
			answer: { kind: "value", output: { bytes: png(2, 2) } },
		} as const;
		expect(
			writer.write(answer, {
				...request({}),
				now: 1_795_258_412_999,
				requestId: "r",
				uuid: () => "u",
				withCost: (usage) => usage,
			}),
		).toEqual({
			kind: "json",
			value: { created: 1_795_258_412, data: [{ b64_json: base64(png(2, 2)) }] },
		});
	});
});

describe("audio/speech", () => {
	const { reader, writer } = openaiSpeech;
	const request = (inputs: object, model = aura): Read =>
		read(reader, model, { model: model.id, input: "Hi", ...inputs });

	it.each([
		[null, { encoding: "mp3" }],
		["mp3", { encoding: "mp3" }],
		["opus", { encoding: "opus", container: "ogg" }],
		["aac", { encoding: "aac" }],
		["flac", { encoding: "flac" }],
		["wav", { encoding: "linear16", container: "wav" }],
		["pcm", { encoding: "linear16", container: "none", sample_rate: 24_000 }],
	])("supports the format %s", (response_format, format) => {
		expect(request({ response_format, voice: "luna" }).call).toEqual({
			task: "text-to-speech",
			input: { text: "Hi", voice: "luna", ...format },
		});
	});

	it("forwards the voice, or uses the model's default", () => {
		expect(request({ voice: "alloy", speed: 1.5, instructions: "whisper" }).call.input).toEqual({
			text: "Hi",
			voice: "alloy",
			speed: 1.5,
			encoding: "mp3",
			extensions: { instructions: "whisper" },
		});
		expect(request({ voice: { id: "voice_1" } }).call.input).toMatchObject({ voice: "voice_1" });
		expect(request({}).call.input).toMatchObject({ voice: "angus" });
		expect(request({}, melotts).call.input).not.toHaveProperty("voice");
	});

	it("refuses unsupported options", () => {
		const refused = (inputs: object) => refusal(reader, aura, { model: aura.id, input: "Hi", ...inputs });
		expect(refused({ stream_format: "sse" })).toBe("Error: '/stream_format' must be 'audio'");
		expect(refused({ speed: 5 })).toBe("Error: '/speed' must be <= 4");
		expect(refused({ input: "a".repeat(4097) })).toBe("Error: Length of '/input' must be <= 4096");
	});

	it("answers with the audio and its type", () => {
		const typeOf = (inputs: object, contentType: string) => {
			const media = { bytes: wav(), contentType };
			const rendered = write(writer, request(inputs), "text-to-speech", media);
			expect(rendered).toMatchObject({ kind: "bytes", media: { bytes: wav() } });
			return rendered.kind === "bytes" && rendered.media.contentType;
		};
		expect(typeOf({ response_format: "wav" }, "audio/wav")).toBe("audio/wav");
		expect(typeOf({ response_format: "pcm" }, "audio/L16;rate=24000")).toBe("audio/pcm");
	});
});

describe("audio/transcriptions", () => {
	const { reader, writer } = openaiTranscription;
	const file: FormPart = { name: "file", bytes: wav(), contentType: "audio/x-wav", filename: "a.wav" };
	const form = (fields: Record<string, string | string[]>, ...files: FormPart[]) => {
		const texts = Object.entries({ model: whisper.id, ...fields }).flatMap(([name, values]) =>
			[values].flat().map((value): FormPart => ({ name, value })),
		);
		return {
			multipart: { body: new MultipartForm([...texts, ...files]), contentType: "multipart/form-data" },
		};
	};
	const request = (fields: Record<string, string | string[]>): Read =>
		read(reader, whisper, form(fields, file));

	it("reads the form", () => {
		expect(reader.body).toEqual({ field: "multipart", as: "wrapped" });
		expect(request({ language: "en", prompt: "Emme", temperature: "0.2", stream: "false" }).call).toEqual({
			task: "speech-recognition",
			input: {
				audio: { bytes: wav(), contentType: "audio/x-wav" },
				task: "transcribe",
				language: "en",
				prompt: "Emme",
				temperature: 0.2,
			},
		});
		expect(request({ language: "" }).call.input).not.toHaveProperty("language");
	});

	it("refuses invalid fields and unsupported options", () => {
		const refused = (fields: Record<string, string>) => refusal(reader, whisper, form(fields, file));
		expect(refused({ stream: "true" })).toBe("Error: '/stream' must be false: transcripts are not streamed");
		expect(refused({ temperature: "warm" })).toBe(
			"Error: Type mismatch of '/temperature', 'number' not in 'string'",
		);
		expect(refused({ response_format: "diarized_json" })).toBe(
			"Error: enum value not in json,text,verbose_json,vtt,srt at '/response_format'",
		);
		expect(refused({ "timestamp_granularities[]": "letter" })).toMatch(/enum value not in word,segment/);
		expect(refusal(reader, whisper, form({}))).toBe("Error: required properties at '/' are 'file'");
		expect(refusal(reader, whisper, { file: "x" })).toBe(
			"Error: required properties at '/' are 'multipart': send the fields as a form (multipart/form-data), by the binding as { multipart: { body, contentType } }",
		);
		expect(() => read(reader, whisper, form({}, { ...file, bytes: latin1("text") }))).toThrow(
			"8001: Invalid input",
		);
	});

	const transcript: Transcript = {
		text: "Hello there. Bye.",
		language: "en",
		duration: 3.2,
		segments: [
			{ start: 0, end: 1.5, text: " Hello there.", avg_logprob: -0.2 },
			{ start: 2, end: 3, text: " Bye." },
		],
		words: [
			{ word: " Hello", start: 0, end: 0.5, confidence: 0.9 },
			{ word: " there.", start: 0.6, end: 1.5 },
			{ word: " Bye.", start: 2, end: 3 },
		],
	};
	const transcribed = (fields: Record<string, string | string[]>, output = transcript): Rendered =>
		write(writer, request(fields), "speech-recognition", output);
	const usage = { type: "duration", seconds: 4 };

	it("answers in JSON, with the duration", () => {
		expect(transcribed({})).toEqual({ kind: "json", value: { text: transcript.text, usage } });
		expect(transcribed({ response_format: "json" }, { text: "Hi" })).toEqual({
			kind: "json",
			value: { text: "Hi" },
		});
	});

	it("answers as verbose_json", () => {
		const verbose = { task: "transcribe", language: "english", duration: 3.2, text: transcript.text, usage };
		const unknown = {
			seek: 0,
			tokens: [],
			temperature: 0,
			avg_logprob: 0,
			compression_ratio: 0,
			no_speech_prob: 0,
		};
		const segments = [
			{ ...unknown, id: 0, start: 0, end: 1.5, text: " Hello there.", avg_logprob: -0.2 },
			{ ...unknown, id: 1, start: 2, end: 3, text: " Bye." },
		];
		const words = [
			{ word: "Hello", start: 0, end: 0.5 },
			{ word: "there.", start: 0.6, end: 1.5 },
			{ word: "Bye.", start: 2, end: 3 },
		];
		const response_format = "verbose_json";
		const granular = (...kinds: string[]) =>
			transcribed({ response_format, "timestamp_granularities[]": kinds });
		expect(transcribed({ response_format })).toEqual({ kind: "json", value: { ...verbose, segments } });
		expect(granular("word")).toEqual({ kind: "json", value: { ...verbose, words } });
		expect(granular("word", "segment")).toEqual({ kind: "json", value: { ...verbose, words, segments } });
	});

	it("has the duration of the file, if the engine sends none, and none that is not known", () => {
		const durationOf = (bytes: ReturnType<typeof wav>) => {
			const sent = read(
				reader,
				whisper,
				form({ response_format: "verbose_json" }, { ...file, bytes } as FormPart),
			);
			return write(writer, sent, "speech-recognition", { text: "Hi" });
		};
		// 800 samples, 8,000 a second.
		expect(durationOf(wav())).toMatchObject({ value: { duration: 0.1 } });
		// Ogg, without the page that has its length.
		expect(durationOf(latin1(`OggS${"\0".repeat(60)}`))).not.toHaveProperty("value.duration");
	});

	it.each([
		["text", "Hello there. Bye.\n"],
		["vtt", "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello there.\n\n00:00:02.000 --> 00:00:03.000\nBye.\n"],
		["srt", "1\n00:00:00,000 --> 00:00:01,500\nHello there.\n\n2\n00:00:02,000 --> 00:00:03,000\nBye.\n"],
	])("answers as %s", (response_format, expected) => {
		const rendered = transcribed({ response_format });
		if (rendered.kind !== "bytes") throw new Error(rendered.kind);
		expect(rendered.media.contentType).toBe("text/plain; charset=utf-8");
		expect(new TextDecoder().decode(rendered.media.bytes)).toBe(expected);
	});
});
