import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Usage } from "../../src/core/usage.ts";
import type { Measured } from "../../src/counting/quantities.ts";
import { approximateTokens } from "../../src/counting/token-estimate.ts";
import { dataUrl } from "../../src/media/base64.ts";
import type { Model } from "../../src/models/model.ts";
import { highestMicroNeurons, microNeurons } from "../../src/models/neurons.ts";
import { thirdPartyModel } from "../../src/models/third-party.ts";
import type { TaskCall, TaskInput, TaskName, TaskOutput } from "../../src/tasks/task.ts";
import type { ChatCompletion, ChatInput } from "../../src/tasks/text-generation/types.ts";
import { definitionOf, measure, measureLive, measureStream } from "../../src/tasks/traits.ts";
import { MP3_FRAME_SECONDS, modelOf, mp3, png, wav } from "./parts.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const requests = 1;

const of = <Name extends TaskName>(
	id: string,
	task: Name,
	input: TaskInput<Name>,
	output: TaskOutput<Name>,
): Measured | Promise<Measured> => measure({ task, input } as TaskCall<Name>, output, modelOf(id));

const usage: Usage = { prompt_tokens: 57, completion_tokens: 28, total_tokens: 85 };
const hello: ChatInput = { messages: [{ role: "user", content: "Who are you, then?" }], stream: false };
const replied = (others: Partial<ChatCompletion> = {}): ChatCompletion => ({
	id: "1",
	object: "chat.completion",
	created: 0,
	model: "m",
	choices: [{ index: 0, message: { role: "assistant", content: "I am a model." }, finish_reason: "stop" }],
	...others,
});
/** Tokens of the opening, the message's markers and its text. */
const ASKED_TOKENS = 3 + 4 + approximateTokens(["Who are you, then?"]);

describe("a chat", () => {
	it("has the engine's counts", () => {
		expect(of(LLAMA, "text-generation", hello, replied({ usage }))).toEqual({
			quantities: { inputTokens: 57, outputTokens: 28, requests },
			estimated: false,
		});
	});

	it("is never counted above the requested output limit", () => {
		const bounded = { ...hello, max_tokens: 2 };
		const outputs = [
			of(LLAMA, "text-generation", bounded, replied()),
			measureStream(
				{ task: "text-generation", input: bounded },
				{ usage: undefined, outputTokens: 9 },
				modelOf(LLAMA),
			),
		].map((measured) => (measured as Measured).quantities.outputTokens);
		expect(outputs).toEqual([2, 2]);
		const two = { ...bounded, n: 2 };
		expect(
			measureStream(
				{ task: "text-generation", input: two },
				{ usage: undefined, outputTokens: 9 },
				modelOf(LLAMA),
			),
		).toEqual({
			quantities: { inputTokens: ASKED_TOKENS, outputTokens: 4, requests },
			estimated: true,
		});
	});

	it("has the cached part of its input", () => {
		const cached = { ...usage, prompt_tokens_details: { cached_tokens: 40 } };
		expect(of(LLAMA, "text-generation", hello, replied({ usage: cached }))).toMatchObject({
			quantities: { inputTokens: 57, cachedTokens: 40, outputTokens: 28 },
		});
		const unknown = { ...usage, prompt_tokens_details: { cached_tokens: null } };
		expect(of(LLAMA, "text-generation", hello, replied({ usage: unknown }))).toEqual({
			quantities: { inputTokens: 57, outputTokens: 28, requests },
			estimated: false,
		});
	});

	it.each([undefined, null, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }])(
		"is counted where its engine gave %j",
		(none) => {
			expect(of(LLAMA, "text-generation", hello, replied({ usage: none }))).toEqual({
				quantities: {
					inputTokens: ASKED_TOKENS,
					outputTokens: approximateTokens(["I am a model."]),
					requests,
				},
				estimated: true,
			});
		},
	);

	it.each([
		["the larger count of its text holds, if its engine counts only the thoughts", 2, "I am a model.", true],
		["the engine's count holds, if there is no more text", 900, "I am a model.", false],
		["the engine's count holds, if there is no text", 2, "", false],
	])("%s", (_, thoughts, content, isOurs) => {
		const usage = {
			...{ prompt_tokens: 57, completion_tokens: thoughts, total_tokens: 57 + thoughts },
			completion_tokens_details: { reasoning_tokens: thoughts },
		};
		const message = { role: "assistant" as const, content };
		const output = replied({ usage, choices: [{ index: 0, message, finish_reason: "stop" }] });
		expect(of(LLAMA, "text-generation", hello, output)).toEqual({
			quantities: {
				inputTokens: 57,
				outputTokens: isOurs ? approximateTokens([content]) : thoughts,
				requests,
			},
			estimated: isOurs,
		});
	});

	it("is counted with its reasoning, its calls and all its choices", () => {
		const call = { id: "1", type: "function" as const, function: { name: "now", arguments: "{}" } };
		const message = { role: "assistant" as const, content: null, reasoning: "Well", tool_calls: [call] };
		const choices = [0, 1].map((index) => ({ index, message, finish_reason: "tool_calls" }));
		// 4 markers per call
		expect(of(LLAMA, "text-generation", hello, replied({ choices }))).toMatchObject({
			quantities: { outputTokens: 2 * 4 + approximateTokens(["Well", "now", "{}", "Well", "now", "{}"]) },
		});
	});

	it("is counted with its images and its tools", () => {
		const image = (url: string) => ({ type: "image_url" as const, image_url: { url } });
		const inputTokens = (
			content: ChatInput["messages"][number]["content"],
			others: Partial<ChatInput> = {},
		) => {
			const input = { ...hello, ...others, messages: [{ role: "user" as const, content }] };
			const measured = of(LLAMA, "text-generation", input, replied()) as Measured;
			return measured.quantities.inputTokens ?? 0;
		};
		const size = (width: number, height: number) => image(dataUrl(png(width, height), "image/png"));
		// 32 x 32 pixels per token: 16 * 16, and 3
		expect(inputTokens([size(512, 512)])).toBe(7 + 259);
		expect(inputTokens([size(16, 16)])).toBe(7 + 8 * 8 + 3);
		expect(inputTokens([size(4096, 4096)])).toBe(7 + 1024);
		expect(inputTokens([image("https://example.com/a.png")])).toBe(7 + 1024);
		const tool = { type: "function" as const, function: { name: "now" } };
		const written = '{"type": "function", "function": {"name": "now"}}';
		expect(inputTokens("", { tools: [tool] })).toBe(7 + 12 * 4 + approximateTokens([written]));
	});
});

describe("a stream", () => {
	it("has the engine's counts so far", () => {
		expect(
			measureStream({ task: "text-generation", input: hello }, { usage, outputTokens: 999 }, modelOf(LLAMA)),
		).toEqual({
			quantities: { inputTokens: 57, outputTokens: 28, requests },
			estimated: false,
		});
	});

	it("has the sent tokens if the engine has no counts", () => {
		const call: TaskCall = { task: "text-generation", input: hello };
		expect(measureStream(call, { usage: undefined, outputTokens: 12 }, modelOf(LLAMA))).toEqual({
			quantities: { inputTokens: ASKED_TOKENS, outputTokens: 12, requests },
			estimated: true,
		});
	});
});

const text = "The cat sat on the mat.";
const TEXT_TOKENS = approximateTokens([text]);
const image = { bytes: png(800, 600) };
const inputImages = [{ width: 800, height: 600 }];

describe("texts", () => {
	it("of an encoder have its counts, otherwise our counts up to the limit per text", () => {
		const embed = (texts: string[], given?: { prompt_tokens: number; total_tokens: number }) =>
			of(
				"@cf/baai/bge-base-en-v1.5",
				"text-embeddings",
				{ texts },
				{
					vectors: [],
					...(given && { usage: given }),
				},
			);
		expect(embed([text], { prompt_tokens: 9, total_tokens: 9 })).toEqual({
			quantities: { inputTokens: 9, requests },
			estimated: false,
		});
		const counted = (inputTokens: number) => ({
			quantities: { inputTokens, outputTokens: 0, requests },
			estimated: true,
		});
		expect(embed([text, text])).toEqual(counted(2 * (TEXT_TOKENS + 2)));
		expect(embed([text], { prompt_tokens: 0, total_tokens: 0 })).toEqual(counted(TEXT_TOKENS + 2));
		expect(embed([text.repeat(1000), text])).toEqual(counted(512 + TEXT_TOKENS + 2));
	});

	it("of a reranker are counted together with the query", () => {
		const input = { query: text, contexts: [text, text, text] };
		expect(of("@cf/baai/bge-reranker-base", "reranking", input, { ranks: [] })).toEqual({
			quantities: { inputTokens: 3 * (2 * TEXT_TOKENS + 4), outputTokens: 0, requests },
			estimated: true,
		});
	});

	it("of a classifier are only input", () => {
		const id = "@cf/huggingface/distilbert-sst-2-int8";
		expect(of(id, "text-classification", { text }, { labels: [] })).toMatchObject({
			quantities: { inputTokens: TEXT_TOKENS + 2, outputTokens: 0 },
		});
	});

	it("of translations and summaries are counted as input and output", () => {
		const input = { texts: [text, text], source_lang: "en", target_lang: "fr" };
		const translate = (output: TaskOutput<"translation">) =>
			of("@cf/meta/m2m100-1.2b", "translation", input, output);
		expect(translate({ texts: [text, text] })).toEqual({
			quantities: { inputTokens: 2 * (TEXT_TOKENS + 2), outputTokens: 2 * (TEXT_TOKENS + 2), requests },
			estimated: true,
		});
		expect(translate({ texts: [], usage })).toMatchObject({
			quantities: { inputTokens: 57 },
			estimated: false,
		});
		const summarize = (output: TaskOutput<"summarization">) =>
			of("@cf/facebook/bart-large-cnn", "summarization", { text, max_length: 50 }, output);
		expect(summarize({ summary: "Cat." })).toMatchObject({
			quantities: { inputTokens: TEXT_TOKENS + 2, outputTokens: approximateTokens(["Cat."]) },
			estimated: true,
		});
		expect(summarize({ summary: "", usage })).toMatchObject({ quantities: { outputTokens: 28 } });
	});

	it("of a decision have the engine's counts", () => {
		const input = { model: "clef", state: "", questions: {}, images: [], audio: [], videos: [] };
		const output = { answers: {}, usage: { input_tokens: 5, output_tokens: 6 } };
		expect(of("@cf/cloudflare/clef", "decision", input, output)).toEqual({
			quantities: { inputTokens: 5, outputTokens: 6, requests },
			estimated: false,
		});
	});
});

describe("audio", () => {
	const transcribe = (bytes: Uint8Array<ArrayBuffer>, output: TaskOutput<"speech-recognition">) =>
		of("@cf/openai/whisper", "speech-recognition", { audio: { bytes }, task: "transcribe" }, output);

	it("has the engine's duration, otherwise the file's", async () => {
		expect(transcribe(wav(64_000), { text: "", duration: 1.5 })).toEqual({
			quantities: { audioSeconds: 1.5, requests },
			estimated: false,
		});
		expect(transcribe(wav(64_000), { text: "" })).toEqual({
			quantities: { audioSeconds: 2, requests },
			estimated: false,
		});
		const read = await transcribe(mp3(100), { text: "" });
		expect(read.quantities.audioSeconds).toBeCloseTo(100 * MP3_FRAME_SECONDS, 1);
		expect(read.estimated).toBe(false);
	});

	it("has the duration of its transcript if the file's metadata is shorter", async () => {
		const wrongFile = wav(3_200_000, { dataSize: 32_000 });
		const segments = [
			{ start: 0, end: 30, text: "One" },
			{ start: 30, end: 98, text: "two" },
		];
		expect(transcribe(wrongFile, { text: "One two", segments })).toEqual({
			quantities: { audioSeconds: 98, requests },
			estimated: true,
		});
		expect(transcribe(wrongFile, { text: "One", words: [{ word: "One", start: 0, end: 98 }] })).toMatchObject(
			{
				quantities: { audioSeconds: 98 },
			},
		);
		// Timestamps of an engine may be too late by up to one window.
		expect(transcribe(wav(32_000), { text: "One", segments: segments.slice(0, 1) })).toMatchObject({
			quantities: { audioSeconds: 1 },
			estimated: false,
		});
	});

	it.each([
		["negative", -1],
		["zero", 0],
		["not a number", Number.NaN],
	])("has the file's duration if that of the engine is %s", (_, duration) => {
		const expected = { quantities: { audioSeconds: 2, requests }, estimated: false };
		expect(transcribe(wav(64_000), { text: "", duration })).toEqual(expected);
		const segments = [{ start: 0, end: duration, text: "" }];
		expect(transcribe(wav(64_000), { text: "", segments })).toEqual(expected);
	});

	it("has a duration of the engine as far as the bytes of the file allow", () => {
		const bytes = wav(64_000);
		// 4 kbit/s, and one window of Whisper.
		const expected = { quantities: { audioSeconds: bytes.length / 500 + 30, requests }, estimated: true };
		expect(transcribe(bytes, { text: "", duration: 1e300 })).toEqual(expected);
		const segments = [{ start: 0, end: 1e300, text: "" }];
		expect(transcribe(bytes, { text: "", segments })).toEqual(expected);
	});

	it("of an hour of Opus at 6 kbit/s without a duration is billed as an hour", () => {
		const bytes = new Uint8Array(2_700_000);
		expect(transcribe(bytes, { text: "", duration: 3_600 })).toEqual({
			quantities: { audioSeconds: 3_600, requests },
			estimated: false,
		});
		const segments = [{ start: 0, end: 3_600, text: "" }];
		expect(transcribe(bytes, { text: "", segments })).toEqual({
			quantities: { audioSeconds: 3_600, requests },
			estimated: true,
		});
	});

	it("of unknown duration is estimated from its bytes", async () => {
		expect(await transcribe(new Uint8Array(16_000), { text: "" })).toEqual({
			quantities: { audioSeconds: 2, requests },
			estimated: true,
		});
	});

	it("that was generated is billed by the text, or by its duration", () => {
		const speak = (id: string) =>
			of(id, "text-to-speech", { text: "Hi 😀", encoding: "linear16" }, { bytes: wav(64_000) });
		expect(speak("@cf/deepgram/aura-1")).toEqual({
			quantities: { characters: 4, requests },
			estimated: false,
		});
		expect(speak("@cf/myshell-ai/melotts")).toEqual({
			quantities: { characters: 4, audioSeconds: 2, requests },
			estimated: false,
		});
	});

	it("for turn detection is samples or a file", () => {
		const detect = (input: TaskInput<"turn-detection">) =>
			of("@cf/pipecat-ai/smart-turn-v2", "turn-detection", input, { is_complete: true, probability: 1 });
		const bare = { audio: { bytes: new Uint8Array(64_000) }, dtype: "float32" as const };
		expect(detect(bare)).toMatchObject({ quantities: { audioSeconds: 1 } });
		expect(detect({ audio: { bytes: wav(64_000) }, dtype: "uint8" })).toMatchObject({
			quantities: { audioSeconds: 2 },
		});
	});

	it("of a session is billed at its end, per channel", () => {
		expect(measureLive({ duration: 2.5, channels: 2 })).toEqual({
			quantities: { liveAudioSeconds: 5, requests },
			estimated: false,
		});
	});
});

describe("images", () => {
	it("that were generated have the requested size", () => {
		const input = { prompt: "", width: 512, height: 1024, images: [image], format: "png" as const };
		expect(of("@cf/black-forest-labs/flux-2-dev", "text-to-image", input, { bytes: png(1, 1) })).toEqual({
			quantities: { outputImages: [{ width: 512, height: 1024 }], inputImages, steps: 25, requests },
			estimated: false,
		});
	});

	it("that were generated have the tokens that the host counted", () => {
		const input = { prompt: "A fox", width: 1024, height: 1024, images: [], format: "png" as const };
		const tokens = { input_tokens: 11, output_tokens: 4_160, total_tokens: 4_171 };
		const measured = (more: object, sent: object = {}) =>
			of(
				"@cf/black-forest-labs/flux-2-dev",
				"text-to-image",
				{ ...input, ...sent },
				{ bytes: png(1, 1), tokens: { ...tokens, ...more } },
			) as Measured;
		expect(measured({})).toMatchObject({
			quantities: { inputTokens: 11, inputImageTokens: 0, outputTokens: 4_160, outputImageTokens: 4_160 },
			estimated: false,
		});
		const details = {
			input_tokens: 411,
			input_tokens_details: {
				text_tokens: 11,
				image_tokens: 400,
				cached_tokens: 300,
				cached_tokens_details: { text_tokens: 0, image_tokens: 300 },
			},
			output_tokens_details: { text_tokens: 60, image_tokens: 4_100 },
		};
		expect(measured(details, { images: [image] }).quantities).toMatchObject({
			inputTokens: 411,
			inputImageTokens: 400,
			cachedTokens: 300,
			cachedImageTokens: 300,
			outputTokens: 4_160,
			outputImageTokens: 4_100,
		});
		// Without details, all but the prompt is of the images.
		expect(measured({ input_tokens: 411 }, { images: [image] }).quantities.inputImageTokens).toBeGreaterThan(
			400,
		);
		// A host that does not count sends zeros.
		const zeros = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
		const call = { task: "text-to-image", input } as TaskCall<"text-to-image">;
		const model = thirdPartyModel("openai/gpt-image-1.5") as Model;
		const priced = measure(call, { bytes: png(1, 1), tokens: zeros }, model);
		// A megapixel of medium quality: https://platform.openai.com/docs/guides/image-generation#cost-and-latency
		expect(priced).toMatchObject({ quantities: { outputImageTokens: 1_056 }, estimated: true });
		const impossible = { input_tokens_details: { image_tokens: 5_000 } };
		expect(measured(impossible).quantities.inputImageTokens).toBe(11);
	});

	it.each([
		["@cf/black-forest-labs/flux-1-schnell", 4],
		["@cf/stabilityai/stable-diffusion-xl-base-1.0", 20],
		["@cf/leonardo/lucid-origin", 25],
	])("%s have the default steps", (id, steps) => {
		const input = { prompt: "", width: 512, height: 512, images: [], format: "png" as const };
		expect(of(id, "text-to-image", input, { bytes: png(1, 1) })).toMatchObject({ quantities: { steps } });
	});

	it("as inputs are counted", () => {
		const looked = { quantities: { inputImages, requests }, estimated: false };
		expect(of("@cf/microsoft/resnet-50", "image-classification", { image }, { labels: [] })).toEqual(looked);
		const found = { objects: [], width: 1, height: 1 };
		expect(of("@cf/facebook/detr-resnet-50", "object-detection", { image }, found)).toEqual(looked);
	});

	it("for detection are billed by tokens for a model with token prices", () => {
		const corner = { xmin: 0, ymin: 0, xmax: 1, ymax: 1 };
		const objects = [
			{ label: "fox", score: 1, box: corner },
			{ label: "fox", score: 1, box: corner },
		];
		const searched = { image: { bytes: png(512, 512) }, target: "fox" };
		expect(
			of("@cf/moondream/moondream3.1-9B-A2B", "object-detection", searched, {
				objects,
				width: 512,
				height: 512,
			}),
		).toMatchObject({
			// 16 patches per side and three markers, three markers of the opening, four of the message, one token of text.
			quantities: { inputTokens: 267, outputTokens: 8, requests },
			estimated: true,
		});
	});

	it("for description are billed by tokens", () => {
		const describeIt = (output: TaskOutput<"image-to-text">) =>
			of("@cf/llava-hf/llava-1.5-7b-hf", "image-to-text", { image, prompt: text }, output);
		expect(describeIt({ description: "", usage })).toEqual({
			quantities: { inputTokens: 57, outputTokens: 28, inputImages, requests },
			estimated: false,
		});
		expect(describeIt({ description: text })).toEqual({
			quantities: {
				// 25 * 19 of 32 x 32, and 3
				inputTokens: 3 + 4 + TEXT_TOKENS + 25 * 19 + 3,
				outputTokens: TEXT_TOKENS,
				inputImages,
				requests,
			},
			estimated: true,
		});
	});
});

describe("our count of a call, compared with its reservation", () => {
	const anyText = fc.string({ unit: "grapheme", maxLength: 300 });

	it("is never larger, for chats of any text", async () => {
		const { prices } = modelOf(LLAMA);
		await fc.assert(
			fc.asyncProperty(
				fc.array(anyText, { minLength: 1, maxLength: 5 }),
				anyText,
				async (contents, reply) => {
					const messages = contents.map((content) => ({ role: "user" as const, content }));
					const call: TaskCall = {
						task: "text-generation",
						input: { messages, stream: true, max_tokens: 1 },
					};
					const { fixed } = definitionOf(call).estimate(call.input, modelOf(LLAMA));
					const { quantities } = measureStream(
						call,
						{ usage: undefined, outputTokens: reply.length },
						modelOf(LLAMA),
					);
					const used = microNeurons(prices, quantities);
					const highest = highestMicroNeurons(prices, fixed);
					const held = highest.fixed + reply.length * highest.perOutputToken;
					expect(used).toBeLessThanOrEqual(held);
				},
			),
		);
	});

	it("is never larger, for embeddings and reranking", async () => {
		await fc.assert(
			fc.asyncProperty(fc.array(anyText, { maxLength: 5 }), anyText, async (texts, query) => {
				const model = modelOf("@cf/baai/bge-m3");
				const embedding: TaskCall = { task: "text-embeddings", input: { texts } };
				const embedded = await measure(embedding, { vectors: [] }, model);
				const most = definitionOf(embedding).estimate(embedding.input, model);
				expect(embedded.quantities.inputTokens).toBeLessThanOrEqual(most.fixed.inputTokens ?? 0);
				const ranking: TaskCall = { task: "reranking", input: { query, contexts: texts } };
				const ranked = await measure(ranking, { ranks: [] }, model);
				const mostRanked = definitionOf(ranking).estimate(ranking.input, model);
				expect(ranked.quantities.inputTokens).toBeLessThanOrEqual(mostRanked.fixed.inputTokens ?? 0);
			}),
		);
	});
});
