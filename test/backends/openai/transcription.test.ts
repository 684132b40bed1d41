import { describe, expect, it } from "vitest";
import type { TranscriptionInput } from "../../../src/tasks/speech-recognition/types.ts";
import noVerbose from "../../fixtures/openai/openai/error-no-verbose.json?raw";
import plain from "../../fixtures/openai/openai/transcription-plain.json?raw";
import words from "../../fixtures/openai/openai/transcription-words.json?raw";
import vllm from "../../fixtures/openai/vllm/transcription.json?raw";
import { outputOf } from "../ask.ts";
import { failureOf, json, type SentRequest } from "../upstream.ts";
import { ask, OPENAI } from "./ask.ts";

const WAV = new Uint8Array([0x52, 0x49, 0x46, 0x46, 0, 0, 0, 0, 0x57, 0x41, 0x56, 0x45]);
const INPUT: TranscriptionInput = { audio: { bytes: WAV, contentType: "audio/mpeg" }, task: "transcribe" };

const fieldsOf = (request: SentRequest | undefined) =>
	[...(request?.form ?? [])].map(([name, value]) => (typeof value === "string" ? `${name}=${value}` : name));

describe("a transcription", () => {
	it("is requested with all details", async () => {
		const asking = ask(
			"speech-recognition",
			{ ...INPUT, language: "de", prompt: "Names", temperature: 0.2 },
			() => json(words),
		);
		await asking.answer;
		const [request] = asking.call.requests;
		expect(request?.url).toBe("http://engine.test/v1/audio/transcriptions");
		expect(fieldsOf(request)).toEqual([
			"file",
			"model=engine-model",
			"response_format=verbose_json",
			"prompt=Names",
			"temperature=0.2",
			"language=de",
			"timestamp_granularities[]=word",
			"timestamp_granularities[]=segment",
		]);
	});

	it("names the file by its detected type", async () => {
		const asking = ask("speech-recognition", INPUT, () => json(words));
		await asking.answer;
		const file = asking.call.requests[0]?.form.get("file");
		if (!(file instanceof File)) throw new Error("no file");
		expect([file.name, file.type]).toEqual(["audio.wav", "audio/wav"]);
		expect(new Uint8Array(await file.arrayBuffer())).toEqual(WAV);
	});

	it.each([
		["\x1a\x45\xdf\xa3", "audio.webm", "audio/webm"],
		["\0\0\0\x20ftypisom", "audio.m4a", "audio/mp4"],
		["\xff\xfd\x90\x64", "audio.mp3", "audio/mpeg"],
	])("names audio by its type in a shared container: %j", async (head, name, type) => {
		const bytes = Uint8Array.from(head, (character) => character.charCodeAt(0));
		const asking = ask("speech-recognition", { ...INPUT, audio: { bytes } }, () => json(words));
		await asking.answer;
		expect(asking.call.requests[0]?.form.get("file")).toMatchObject({ name, type });
	});

	it.each([
		["audio/x-m4a", "audio.m4a", "audio/mp4"],
		["audio/L16; rate=16000", "audio.wav", "audio/l16; rate=16000"],
		[undefined, "audio.wav", "application/octet-stream"],
	])("names unknown bytes by the sender's type: %s", async (contentType, name, type) => {
		const asking = ask(
			"speech-recognition",
			{ ...INPUT, audio: { bytes: new Uint8Array([1, 2, 3]), contentType } },
			() => json(words),
		);
		await asking.answer;
		const file = asking.call.requests[0]?.form.get("file");
		expect(file).toMatchObject({ name, type });
	});

	it("reads words and segments of OpenAI", async () => {
		expect(await outputOf(ask("speech-recognition", INPUT, () => json(words)))).toEqual({
			text: "The beach was",
			language: "english",
			duration: 8.470000267028809,
			segments: [
				{
					start: 0,
					end: 3.319999933242798,
					text: " The beach was",
					temperature: 0,
					avg_logprob: -0.2860786020755768,
					compression_ratio: 1.2363636493682861,
					no_speech_prob: 0.00985979475080967,
				},
			],
			words: [
				{ word: "The", start: 0, end: 0.23999999463558197 },
				{ word: "beach", start: 0.23999999463558197, end: 0.5 },
				{ word: "was", start: 0.5, end: 0.75 },
			],
		});
	});

	it("reads a duration in text from vLLM", async () => {
		expect(await outputOf(ask("speech-recognition", INPUT, () => json(vllm)))).toEqual({
			text: " Hey, who remembers? Oh.",
			language: "en",
			duration: 17.653125,
			segments: [
				{
					start: 0,
					end: 11.54,
					text: " Hey, who remembers?",
					temperature: 0,
					avg_logprob: -0.25,
					compression_ratio: 1.5,
				},
				{ start: 11.54, end: 17.6, text: " Oh.", temperature: 0, avg_logprob: -0.5, compression_ratio: 1.5 },
			],
		});
	});

	it("reads words in segments from whisper.cpp", async () => {
		const word = { word: " Hi", start: 0, end: 0.5, t_dtw: -1, probability: 0.9 };
		const reply = { text: "Hi", segments: [{ id: 0, start: 0, end: 1, text: "Hi", words: [word] }] };
		expect(await outputOf(ask("speech-recognition", INPUT, () => json(reply)))).toEqual({
			text: "Hi",
			segments: [{ start: 0, end: 1, text: "Hi" }],
			words: [{ word: " Hi", start: 0, end: 0.5, confidence: 0.9 }],
		});
	});

	it("has only text if the reply has only text", async () => {
		expect(await outputOf(ask("speech-recognition", INPUT, () => json(plain)))).toEqual({
			text: "The beach was",
		});
	});
});

describe("a refused format", () => {
	const formats = (requests: SentRequest[]) =>
		requests.map(({ form }) => [
			form.get("response_format"),
			form.getAll("timestamp_granularities[]").length,
		]);

	it("is followed by simpler ones", async () => {
		const asking = ask("speech-recognition", INPUT, ({ form }) =>
			form.get("response_format") === "json" ? json(plain) : json(noVerbose, 400),
		);
		expect(await outputOf(asking)).toEqual({ text: "The beach was" });
		expect(formats(asking.call.requests)).toEqual([
			["verbose_json", 2],
			["json", 0],
		]);
		for (const { form } of asking.call.requests) expect(form.get("file")).toBeInstanceOf(File);
	});

	it("keeps segments if only word timestamps are refused", async () => {
		const message = "`timestamp_granularities[]` not supported by this model";
		const asking = ask("speech-recognition", INPUT, ({ form }) =>
			form.has("timestamp_granularities[]") ? json({ error: { message } }, 400) : json(vllm),
		);
		expect(await outputOf(asking)).toMatchObject({ segments: [{}, {}] });
		expect(formats(asking.call.requests)).toEqual([
			["verbose_json", 2],
			["verbose_json", 0],
		]);
	});

	it("fails with the engine's error if all formats are refused", async () => {
		const asking = ask("speech-recognition", INPUT, () => json(noVerbose, 400));
		expect(await failureOf(asking.answer)).toMatchObject({ key: "engineRefused" });
		expect(asking.call.requests).toHaveLength(2);
	});

	it("is remembered for the model, because each refusal costs an upload", async () => {
		const observed = {};
		const uploads = async (model: string) => {
			const asking = ask(
				"speech-recognition",
				INPUT,
				({ form }) => (form.get("response_format") === "json" ? json(plain) : json(noVerbose, 400)),
				{ target: { observed, model } },
			);
			await outputOf(asking);
			return asking.call.requests.length;
		};
		expect(await uploads("gpt-4o-transcribe")).toBe(2);
		expect(await uploads("gpt-4o-transcribe")).toBe(1);
		expect(await uploads("gpt-4o-mini-transcribe")).toBe(2);
	});

	it("is the end for subtitles, which need times", async () => {
		const asking = ask("speech-recognition", { ...INPUT, needsTimes: true }, () => json(noVerbose, 400));
		expect(await failureOf(asking.answer)).toMatchObject({
			key: "engineRefused",
			description: "The backend 'lab' reports no times, which subtitles need: request json or text",
			retryable: true,
		});
		expect(asking.call.requests).toHaveLength(1);
	});

	it.each([
		[400, "the file is not audio"],
		[401, "no key for response_format"],
		[500, "response_format made it crash"],
	])("is not the meaning of %i '%s'", async (status, message) => {
		const asking = ask("speech-recognition", INPUT, () => json({ error: { message } }, status));
		await failureOf(asking.answer);
		expect(asking.call.requests).toHaveLength(1);
	});
});

describe("a translation", () => {
	const TRANSLATE: TranscriptionInput = { ...INPUT, task: "translate", language: "de" };

	it("has its own route, and a language only for engines", async () => {
		const engine = ask("speech-recognition", TRANSLATE, () => json(vllm));
		await engine.answer;
		expect(engine.call.requests[0]?.url).toBe("http://engine.test/v1/audio/translations");
		expect(fieldsOf(engine.call.requests[0])).toEqual([
			"file",
			"model=engine-model",
			"response_format=verbose_json",
			"language=de",
		]);
		const service = ask("speech-recognition", TRANSLATE, () => json(vllm), OPENAI);
		await service.answer;
		expect(service.call.requests[0]?.form.has("language")).toBe(false);
	});

	it("is requested as plain JSON if the detailed format is refused", async () => {
		const asking = ask("speech-recognition", TRANSLATE, ({ form }) =>
			form.get("response_format") === "json" ? json(plain) : json(noVerbose, 400),
		);
		expect(await outputOf(asking)).toEqual({ text: "The beach was" });
		expect(asking.call.requests).toHaveLength(2);
	});

	describe("at a server with one route for both", () => {
		const oneRoute = (reply: object) =>
			ask("speech-recognition", TRANSLATE, ({ url }) =>
				url.endsWith("/audio/transcriptions") ? json(reply) : json({ error: "Not Found" }, 404),
			);

		it("uses the server's own field", async () => {
			const asking = oneRoute({ task: "translate", text: "Hi", language: "german" });
			expect(await outputOf(asking)).toEqual({ text: "Hi", language: "german" });
			expect(asking.call.requests.map(({ url }) => url.replace("http://engine.test/v1", ""))).toEqual([
				"/audio/translations",
				"/audio/transcriptions",
			]);
			expect(fieldsOf(asking.call.requests[1])).toContain("translate=true");
		});

		it.each([{ text: "Hallo" }, { task: "transcribe", text: "Hallo" }])(
			"is not taken for one that did not translate: %j",
			async (reply) => {
				expect(await failureOf(oneRoute(reply).answer)).toMatchObject({ key: "noSuchModel" });
			},
		);

		it("is not tried if the translation is refused", async () => {
			const asking = ask("speech-recognition", TRANSLATE, () => json({ error: "not audio" }, 400));
			expect(await failureOf(asking.answer)).toMatchObject({ key: "engineRefused" });
			expect(asking.call.requests).toHaveLength(1);
		});

		it("is not tried at OpenAI", async () => {
			const asking = ask("speech-recognition", TRANSLATE, () => json({}, 404), OPENAI);
			await failureOf(asking.answer);
			expect(asking.call.requests).toHaveLength(1);
		});
	});
});
