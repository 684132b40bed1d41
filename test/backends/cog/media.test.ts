import { describe, expect, it } from "vitest";
import { fileOf } from "../../../src/backends/cog/predictions.ts";
import type { ImageInput } from "../../../src/tasks/text-to-image/index.ts";
import openApi from "../../fixtures/cog/openapi-image.json?raw";
import predictionFile from "../../fixtures/cog/prediction-file.json?raw";
import { outputOf } from "../ask.ts";
import { callOf, failureOf, json } from "../upstream.ts";
import { ask, inputOf } from "./ask.ts";
import { container, succeeds, takes, URL } from "./container.ts";

const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const PNG_URL = "data:image/png;base64,iVBORw0KGgo=";
const image = { bytes: PNG };
const FOX: ImageInput = { prompt: "a fox", width: 1000, height: 300, images: [], format: "jpeg" };
const text = { type: "string" };

const paints = container({ openApi, predict: () => json(predictionFile) });
const painted = (output: unknown, other?: Parameters<typeof container>[0]["other"]) =>
	ask("text-to-image", FOX, container({ openApi, predict: () => succeeds(output), ...(other && { other }) }));

describe("an image", () => {
	it("maps fields to the model's inputs, within their ranges and choices", async () => {
		const input: ImageInput = {
			...FOX,
			negative_prompt: "a cat",
			steps: 80,
			guidance: 0.5,
			seed: 7,
			strength: 0.4,
			images: [image],
			mask: image,
		};
		expect(await inputOf(ask("text-to-image", input, paints))).toEqual({
			prompt: "a fox",
			negative_prompt: "a cat",
			width: 768,
			height: 256,
			num_inference_steps: 50,
			guidance_scale: 1,
			seed: 7,
			prompt_strength: 0.4,
			output_format: "jpg",
			image: PNG_URL,
			mask: PNG_URL,
		});
	});

	it("omits absent fields", async () => {
		expect(await inputOf(ask("text-to-image", { ...FOX, format: "png" }, paints))).toEqual({
			prompt: "a fox",
			width: 768,
			height: 256,
			output_format: "png",
		});
	});

	it("reads a data URL", async () => {
		expect(await outputOf(ask("text-to-image", FOX, paints))).toEqual({
			bytes: PNG,
			contentType: "image/png",
		});
	});

	it("reads one of several files, and files at the container's address", async () => {
		expect((await outputOf(painted([PNG_URL, "data:image/png;base64,AAAA"]))).bytes).toEqual(PNG);
		const asking = painted([`${URL}/files/a.png?x=1`], ({ url }) =>
			url === `${URL}/files/a.png?x=1` ? new Response(PNG) : json({}, 404),
		);
		expect((await outputOf(asking)).bytes).toEqual(PNG);
	});

	it.each([
		["http://elsewhere.test/a.png", "a file of its own"],
		["https://container.test:5000/a.png", "a file of its own"],
		["file:///etc/passwd", "a file"],
		["just text", "a file"],
		[null, "a file"],
		["data:image/png;base64,!!", "a file"],
		["data:text/plain;base64,aGk=", "an image"],
	])("rejects the output %j without a fetch", async (output, what) => {
		const asking = painted(output);
		expect(await failureOf(asking.answer)).toMatchObject({
			key: "executionFailed",
			description: `The backend 'lab' answered with something that is not ${what}`,
		});
		expect(asking.call.requests).toHaveLength(3);
	});

	it("has the container's type if its format is unknown", async () => {
		expect(await outputOf(painted("data:image/x-own;base64,AAAA"))).toEqual({
			bytes: Uint8Array.of(0, 0, 0),
			contentType: "image/x-own",
		});
	});

	it("is read as the file that the output names", async () => {
		const call = callOf(paints, { target: { url: URL } });
		expect(await fileOf("data:image/png;base64,AAAA", call)).toStrictEqual({
			bytes: Uint8Array.of(0, 0, 0),
			contentType: "image/png",
		});
		expect(await fileOf("data:;base64,AAAA", call)).toStrictEqual({ bytes: Uint8Array.of(0, 0, 0) });
		expect(await fileOf("DATA:;base64,AAAA", call)).toStrictEqual({ bytes: Uint8Array.of(0, 0, 0) });
	});

	it.each([
		["png", ["jpg"], undefined],
		["jpeg", ["jpg"], "jpg"],
		["jpeg", ["jpg", "jpeg"], "jpeg"],
	] as const)("of the format %s, of %j, is %s", async (format, formats, expected) => {
		const openApi = takes({ prompt: text, output_format: { enum: formats, type: "string" } });
		const respond = container({ openApi, predict: () => json(predictionFile) });
		expect(await inputOf(ask("text-to-image", { ...FOX, format }, respond))).toEqual({
			prompt: "a fox",
			...(expected && { output_format: expected }),
		});
	});

	it("sends several input images to the list input", async () => {
		const several = takes({ prompt: text, image: text, input_images: { type: "array" } });
		const respond = container({ openApi: several, predict: () => json(predictionFile) });
		expect(await inputOf(ask("text-to-image", { ...FOX, images: [image, image] }, respond))).toEqual({
			prompt: "a fox",
			input_images: [PNG_URL, PNG_URL],
		});
	});

	it("rejects a model without a prompt input or an image input", async () => {
		const without = (properties: Record<string, object>, input: Partial<ImageInput>) =>
			failureOf(
				ask(
					"text-to-image",
					{ ...FOX, ...input },
					container({ openApi: takes(properties), predict: () => json(predictionFile) }),
				).answer,
			);
		expect(await without({ audio: text }, {})).toMatchObject({
			description: "The backend 'lab' has no input for prompt",
			retryable: true,
		});
		expect(await without({ prompt: text }, { images: [image] })).toMatchObject({
			description: "The backend 'lab' has no input for images",
		});
	});

	it("is described", async () => {
		const sees = takes({ image: text, question: text, max_new_tokens: { type: "integer", maximum: 5 } });
		const respond = container({ openApi: sees, predict: () => succeeds([" A", " fox."]) });
		const asking = ask("image-to-text", { image, prompt: "What?", max_tokens: 9 }, respond);
		expect(await outputOf(asking)).toEqual({ description: "A fox." });
		expect(await inputOf(asking)).toEqual({ image: PNG_URL, question: "What?", max_new_tokens: 5 });
	});

	it("is described with the model's counts, or refused without a text", async () => {
		const sees = takes({ image: text });
		const metrics = { input_token_count: 3, output_token_count: 2 };
		const described = (output: string, more = {}) =>
			outputOf(
				ask("image-to-text", { image }, container({ openApi: sees, predict: () => succeeds(output, more) })),
			);
		expect(await described("A fox.", { metrics })).toEqual({
			description: "A fox.",
			usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
		});
		expect(await failureOf(described(" "))).toMatchObject({
			description: "The backend 'lab' answered with no text",
		});
	});
});

describe("speech", () => {
	const sound = "data:audio/wav;base64,UklGRgAAAABXQVZF";
	const speaks = (properties: Record<string, object>) =>
		container({ openApi: takes(properties), predict: () => succeeds({ audio: sound }) });

	it("uses the model's voice and format", async () => {
		const respond = speaks({
			text,
			speaker: { enum: ["luna", "angus"], type: "string" },
			output_format: { enum: ["mp3", "wav"], type: "string" },
			speed: { type: "number", minimum: 0.5, maximum: 2 },
		});
		const input = { text: "Hi", voice: "Luna", speed: 9, encoding: "linear16" as const };
		const asking = ask("text-to-speech", input, respond);
		expect(await outputOf(asking)).toMatchObject({ contentType: "audio/wav" });
		expect(await inputOf(asking)).toEqual({ text: "Hi", speaker: "luna", speed: 2, output_format: "wav" });
	});

	it("has the requested format, and the container's type if its format is unknown", async () => {
		const respond = container({
			openApi: takes({ text, output_format: { enum: ["mp3", "wav"], type: "string" } }),
			predict: () => succeeds("data:audio/x-own;base64,AAAA"),
		});
		const asking = ask("text-to-speech", { text: "Hi", encoding: "mp3" }, respond);
		expect(await outputOf(asking)).toEqual({ bytes: Uint8Array.of(0, 0, 0), contentType: "audio/x-own" });
		expect(await inputOf(asking)).toEqual({ text: "Hi", output_format: "mp3" });
	});

	it("omits a voice or a format that the model lacks", async () => {
		const respond = speaks({ text, speaker: { enum: ["luna"], type: "string" } });
		expect(
			await inputOf(ask("text-to-speech", { text: "Hi", voice: "nova", encoding: "mp3" }, respond)),
		).toEqual({ text: "Hi" });
	});

	it("rejects mu-law", async () => {
		const { answer } = ask("text-to-speech", { text: "Hi", encoding: "mulaw" }, speaks({ text }));
		expect(await failureOf(answer)).toMatchObject({ key: "engineRefused", retryable: true });
	});
});

describe("a transcript", () => {
	const audio = { bytes: Uint8Array.from([0x49, 0x44, 0x33]) };
	const hears = (
		output: unknown,
		properties: Record<string, object> = { audio: text, translate: { type: "boolean" } },
	) => container({ openApi: takes(properties), predict: () => succeeds(output) });

	it("has the model's segments and language", async () => {
		const segments = [{ id: 0, start: 0, end: 1.5, text: " Hi." }];
		const output = { transcription: " Hi.", detected_language: "english", segments, translation: null };
		const asking = ask("speech-recognition", { audio, task: "transcribe", language: "en" }, hears(output));
		expect(await outputOf(asking)).toEqual({
			text: " Hi.",
			language: "english",
			segments: [{ start: 0, end: 1.5, text: " Hi." }],
		});
		expect(await inputOf(asking)).toEqual({ audio: "data:audio/mpeg;base64,SUQz", translate: false });
	});

	it.each([
		["text", { text: "Hi." }],
		["one text", "Hi."],
		["pieces", ["H", "i."]],
		["segments alone", { segments: [{ start: 0, end: 1, text: "Hi." }] }],
	])("accepts %s", async (_, output) => {
		const asking = ask("speech-recognition", { audio, task: "transcribe" }, hears(output));
		expect((await outputOf(asking)).text).toBe("Hi.");
	});

	it("has the text before a transcription, and either field of the language", async () => {
		const segments = [{ start: 0, end: 1, text: "c" }];
		const transcribe = (output: object) =>
			outputOf(ask("speech-recognition", { audio, task: "transcribe" }, hears(output)));
		expect(await transcribe({ text: "a", transcription: "b", segments })).toEqual({ text: "a", segments });
		expect(await transcribe({ transcription: "b", segments })).toEqual({ text: "b", segments });
		expect(await transcribe({ text: "a", detected_language: "en", language: "fr" })).toEqual({
			text: "a",
			language: "en",
		});
		expect(await transcribe({ text: "a", language: "fr" })).toEqual({ text: "a", language: "fr" });
	});

	it("is refused without a text", async () => {
		const asking = ask("speech-recognition", { audio, task: "transcribe" }, hears({ language: "en" }));
		expect(await failureOf(asking.answer)).toMatchObject({
			description: "The backend 'lab' answered with something that is not a transcript",
		});
	});

	it("is requested with the language, the vocabulary and the temperature", async () => {
		const fields = { audio: text, lang: text, initial_prompt: text, temperature: { type: "number" } };
		const input = {
			audio,
			task: "transcribe",
			language: "fr",
			prompt: "Ganglion",
			temperature: 0.5,
		} as const;
		expect(await inputOf(ask("speech-recognition", input, hears("a", fields)))).toEqual({
			audio: "data:audio/mpeg;base64,SUQz",
			lang: "fr",
			initial_prompt: "Ganglion",
			temperature: 0.5,
		});
	});

	it.each([
		["audio/x-own", "data:audio/x-own;base64,AQI="],
		[undefined, "data:application/octet-stream;base64,AQI="],
	])("is of a file of unknown format with the type %s", async (contentType, url) => {
		const file = { bytes: Uint8Array.of(1, 2), ...(contentType && { contentType }) };
		const asking = ask(
			"speech-recognition",
			{ audio: file, task: "transcribe" },
			hears("a", { audio: text }),
		);
		expect(await inputOf(asking)).toEqual({ audio: url });
	});

	it("requests translation by either input, and rejects models without both", async () => {
		const translate = (properties: Record<string, object>) =>
			ask("speech-recognition", { audio, task: "translate" }, hears("Hi.", properties));
		const task = { enum: ["transcribe", "translate"], type: "string" };
		expect(await inputOf(translate({ audio: text, task }))).toMatchObject({ task: "translate" });
		expect(await inputOf(translate({ audio: text, translate: { type: "boolean" } }))).toMatchObject({
			translate: true,
		});
		expect(await failureOf(translate({ audio: text }).answer)).toMatchObject({ retryable: true });
	});
});
