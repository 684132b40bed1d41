import { describe, expect, it, vi } from "vitest";
import type { Estimate } from "../../src/counting/quantities.ts";
import { dataUrl, encodeBase64 } from "../../src/media/base64.ts";
import type { Model } from "../../src/models/model.ts";
import { LIVE_SESSION_SECONDS } from "../../src/tasks/live-transcription/index.ts";
import type { TaskCall } from "../../src/tasks/task.ts";
import { promptTokens } from "../../src/tasks/text-generation/index.ts";
import type { ChatInput } from "../../src/tasks/text-generation/types.ts";
import { definitionOf } from "../../src/tasks/traits.ts";
import { chunk, extensible, MP3_FRAME_SECONDS, modelOf, mp3, png, wav, wavChunks } from "./parts.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

const estimate = (call: TaskCall, model: Model): Estimate => definitionOf(call).estimate(call.input, model);
const of = (call: TaskCall, id: string): Estimate | Promise<Estimate> => estimate(call, modelOf(id));
const chat = (input: Partial<ChatInput>, id = LLAMA): Estimate =>
	of({ task: "text-generation", input: { messages: [], stream: false, ...input } }, id) as Estimate;
const inputOf = (input: Partial<ChatInput>): number => chat(input).fixed.inputTokens ?? 0;
const user = (content: ChatInput["messages"][number]["content"]) => ({
	messages: [{ role: "user" as const, content }],
});

const sound = (format: string, bytes: Uint8Array) =>
	user([{ type: "input_audio", input_audio: { data: encodeBase64(bytes), format } }]);
/** The most that an engine counts for so many seconds. */
const soundTokens = (seconds: number): number => Math.ceil(seconds * 32) + 375;
const decisionOn = (audio: string[]) => ({
	...{ model: "clef", state: "", questions: {}, images: [], audio, videos: [] },
});
/** The declared rate is 4 GB/s. */
const ADPCM = wav(320_000, { format: 2, bits: 4, bytesPerSecond: 4_000_000_000 });
const TWELVE_BITS = wav(320_000, { bits: 12, blockBytes: 2 });
const LOUD = wav(320_000, { rate: 384_000, channels: 32, bits: 64 });
/** A chunk precedes the sound. */
const wavAfter = (before: number, bytes: number): Uint8Array => {
	const file = wav(bytes);
	return wavChunks(file.subarray(0, 12), chunk("junk", new Uint8Array(before)), file.subarray(12));
};

describe("the estimate of a chat", () => {
	it("has one token per byte of text, and the template's tokens", () => {
		// 256 of the template's opening, 16 around the message
		expect(inputOf(user("Hi"))).toBe(256 + 16 + 2);
		expect(inputOf(user("你好"))).toBe(256 + 16 + 6);
		expect(inputOf(user([{ type: "text", text: "Hi" }]))).toBe(256 + 16 + 2);
		expect(inputOf({ prompt: "Hi" })).toBe(2);
		expect(inputOf({ prompt: "Hi", suffix: "é" })).toBe(4);
	});

	it("has the tools and the instructions for calling them", () => {
		const tool = { type: "function" as const, function: { name: "now", parameters: { type: "object" } } };
		const written = '{"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}';
		expect(inputOf({ ...user("Hi"), tools: [tool] })).toBe(274 + 12 * 16 + 2 * written.length);
	});

	it("has everything that engines may add to the messages", () => {
		const functions = [{ name: "now", description: "x".repeat(1_000) }];
		const written = (name: string) => `{"${name}": [{"name": "now", "description": "${"x".repeat(1_000)}"}]}`;
		expect(inputOf({ ...user("Hi"), passthrough: { functions } })).toBe(
			274 + 2 * written("functions").length,
		);
		expect(inputOf({ ...user("Hi"), chat_template_kwargs: { documents: functions } })).toBe(
			274 + 2 * written("documents").length,
		);
	});

	it("has the text of content that only Anthropic supports, and its files once", () => {
		const source = { type: "base64", media_type: "image/png", data: "A".repeat(100_000) };
		const found = { type: "search_result", content: [{ type: "text", text: "x".repeat(5_000) }] };
		const body = { messages: [{ role: "user", content: [{ type: "image", source }, found] }] };
		const verbatim = { dialect: "anthropic" as const, body, messages: 1 };
		const request = { messages: [{ role: "user", content: [{ type: "image", source: null }, found] }] };
		expect(inputOf({ ...user("Hi"), verbatim })).toBe(274);
		expect(inputOf({ ...user("Hi"), verbatim: { ...verbatim, unconverted: "search_result" } })).toBe(
			274 + JSON.stringify(request).length,
		);
	});

	it("has the calls and the reasoning of earlier messages", () => {
		const call = { id: "1", type: "function" as const, function: { name: "now", arguments: "{}" } };
		const messages = [
			{ role: "assistant" as const, content: null, tool_calls: [call], reasoning_content: "abc" },
		];
		expect(inputOf({ messages })).toBe(256 + 16 + 2 * 16 + 3 + 2 + 3);
	});

	it("has images by size, audio and files by bytes", () => {
		const image = (width: number, height: number) => ({
			type: "image_url" as const,
			image_url: { url: dataUrl(png(width, height), "image/png") },
		});
		const without = 256 + 16;
		expect(inputOf(user([image(64, 64)]))).toBe(without + 6_500);
		// 3,000 / 28 is 108 per side
		expect(inputOf(user([image(3_000, 3_000)]))).toBe(without + 108 * 108);
		expect(inputOf(user([image(20_000, 20_000)]))).toBe(without + 16_400);
		const away = { type: "image_url" as const, image_url: { url: "https://example.com/a.png" } };
		expect(inputOf(user([away]))).toBe(without + 16_400);
		// 8,000 bytes are at most one second of samples
		expect(inputOf(sound("wav", new Uint8Array(8_000)))).toBe(without + soundTokens(1));
		expect(inputOf(sound("mp3", new Uint8Array(8_000)))).toBe(without + soundTokens(8));
		const file = {
			type: "file" as const,
			file: { file_data: `data:application/pdf;base64,${btoa("12345678")}` },
		};
		expect(inputOf(user([file]))).toBeGreaterThanOrEqual(without + 8);
	});

	const IN_TWO_CHUNKS = wavChunks(wav(2), chunk("data", new Uint8Array(319_998)));
	const ODD_MP3 = new Uint8Array(400_208);
	ODD_MP3.set(mp3(2));
	/** As samples of a file whose duration is unknown, or as a compressed one. */
	const unknown = ({ length }: Uint8Array, kind: "samples" | "compressed"): [number, number] =>
		kind === "samples" ? [length / 8_000, length / 32_000] : [length / 1_000, length / 8_000];
	it.each<[string, string, Uint8Array, [most: number, counted: number]]>([
		["two seconds at 24 kHz and 16 bits", "wav", wav(96_000, { rate: 24_000 }), [2, 2]],
		["two chunks", "wav", IN_TWO_CHUNKS, [320_006 / 32_000, 10]],
		[
			"a chunk after the sound",
			"wav",
			wavChunks(wav(320_000), chunk("LIST", new Uint8Array(50))),
			[10 + 58 / 32_000, 10],
		],
		["a chunk of 60 KB before the sound", "wav", wavAfter(60_000, 320_000), [10, 10]],
		["ADPCM with a false rate", "wav", ADPCM, unknown(ADPCM, "compressed")],
		["samples of 12 bits", "wav", TWELVE_BITS, unknown(TWELVE_BITS, "samples")],
		["samples with 12 of 16 bits valid", "wav", extensible(1, 12), [extensible(1, 12).length / 8_000, 1]],
		["raw samples that begin as a WAV file", "pcm16", LOUD, unknown(LOUD, "samples")],
		["a WAV file that is said to be MP3", "mp3", LOUD, unknown(LOUD, "compressed")],
		["an MP3 that is said to be WAV", "wav", mp3(100), unknown(mp3(100), "compressed")],
		["100 frames of MP3", "mp3", mp3(100), [100 * MP3_FRAME_SECONDS, 100 * MP3_FRAME_SECONDS]],
		// Two frames, and then bytes in no frame that is known: counted as at 320 kbit/s.
		["bytes in no frame", "mp3", ODD_MP3, [400_208 / 1_000, 400_208 / 40_000]],
	])("has the sound of %s", (_, format, bytes, [most, counted]) => {
		expect(inputOf(sound(format, bytes))).toBe(256 + 16 + soundTokens(most));
		expect(promptTokens({ ...sound(format, bytes), stream: false })).toBe(7 + Math.ceil(counted * 13));
		const url = `data:audio/${format};base64,${encodeBase64(bytes)}`;
		const ofDecision = of({ task: "decision", input: decisionOn([url]) }, "@cf/cloudflare/clef") as Estimate;
		expect(ofDecision.fixed.inputTokens).toBe(256 + 2 * 16 + 2 * '""'.length + soundTokens(most));
	});

	it.each([
		["the beginning of a WAV file", "wav", wav(320_000), 65_536],
		["the frames of an MP3", "mp3", mp3(2_000), (4 / 3) * 48 * 1024 + Math.ceil((2_000 * 208) / 3) * 4],
	])("decodes %s once", (_, format, bytes, characters) => {
		const input: ChatInput = { ...sound(format, bytes), stream: false };
		const decode = vi.spyOn(Uint8Array, "fromBase64");
		try {
			inputOf(input);
			promptTokens(input);
			inputOf({ ...input, max_tokens: 5 });
			expect(decode.mock.calls.reduce((total, [text]) => total + text.length, 0)).toBe(characters);
		} finally {
			decode.mockRestore();
		}
	});

	it.each<[string, Partial<ChatInput>, number, boolean]>([
		["the caller's limit", { max_tokens: 100 }, 100, false],
		["of each choice", { max_tokens: 100, n: 3 }, 300, false],
		["4,096 where there is none", {}, 4_096, true],
		["4,096 of each choice", { n: 2 }, 8_192, true],
	])("has the output: %s", (_, input, outputTokens, outputUnbounded) => {
		expect(chat({ ...user("Hi"), ...input })).toMatchObject({ outputTokens, outputUnbounded });
	});

	it("has no more output than the model's context window, for any request", () => {
		const small = { ...modelOf(LLAMA), contextWindow: 2_048 };
		const call = (input: Partial<ChatInput>): TaskCall => ({
			task: "text-generation",
			input: { ...user("Hi"), stream: false, ...input },
		});
		expect(estimate(call({}), small)).toMatchObject({ outputTokens: 2_048, outputUnbounded: true });
		expect(estimate(call({ max_tokens: 5e12 }), small)).toMatchObject({
			outputTokens: 2_048,
			outputUnbounded: false,
		});
		const { contextWindow: _, ...unknown } = small;
		expect(estimate(call({ max_tokens: 5e12 }), unknown)).toMatchObject({ outputTokens: 1_000_000 });
		expect(estimate(call({ max_tokens: 5e12, n: 2 }), unknown)).toMatchObject({ outputTokens: 2_000_000 });
	});

	it("has a limited output for summaries and descriptions", () => {
		const long = { task: "summarization", input: { text: "Hi", max_length: 5e12 } } as const;
		expect(of(long, "@cf/facebook/bart-large-cnn")).toMatchObject({ outputTokens: 1_000_000 });
		const described = {
			task: "image-to-text",
			input: { image: { bytes: png(1, 1) }, max_tokens: 5e12 },
		} as const;
		expect(of(described, "@cf/llava-hf/llava-1.5-7b-hf")).toMatchObject({ outputTokens: 1_000_000 });
	});
});

const audio = { bytes: wav(64_000) };
const image = { bytes: png(800, 600) };
const imageInput = { prompt: "a cat", width: 1024, height: 768, images: [], format: "png" as const };
const requests = 1;

describe("the estimates of other tasks", () => {
	it.each<[TaskCall, string, Estimate["fixed"], number]>([
		[
			{ task: "text-embeddings", input: { texts: ["Hi", "你好"] } },
			"@cf/baai/bge-m3",
			// 4 tokens around each text
			{ inputTokens: 2 + 6 + 2 * 4, requests },
			0,
		],
		[
			{ task: "reranking", input: { query: "abc", contexts: ["a", "bc"] } },
			"@cf/baai/bge-reranker-base",
			{ inputTokens: 1 + 4 + 2 + 4 + 2 * (3 + 4), requests },
			0,
		],
		[
			{ task: "text-classification", input: { text: "Hi" } },
			"@cf/huggingface/distilbert-sst-2-int8",
			{ inputTokens: 6, requests },
			0,
		],
		[
			{ task: "translation", input: { texts: ["Hi"], source_lang: "en", target_lang: "fr" } },
			"@cf/meta/m2m100-1.2b",
			{ inputTokens: 6, requests },
			6 + 32,
		],
		[
			{ task: "summarization", input: { text: "Hi", max_length: 50 } },
			"@cf/facebook/bart-large-cnn",
			{ inputTokens: 6, requests },
			50,
		],
		[
			{ task: "speech-recognition", input: { audio, task: "transcribe" } },
			"@cf/openai/whisper",
			{ audioSeconds: 2, requests },
			0,
		],
		[
			{ task: "turn-detection", input: { audio: { bytes: new Uint8Array(64_000) }, dtype: "float32" } },
			"@cf/pipecat-ai/smart-turn-v2",
			{ audioSeconds: 1, requests },
			0,
		],
		[
			{ task: "text-to-speech", input: { text: "12345678", encoding: "mp3" } },
			"@cf/myshell-ai/melotts",
			// 4 bytes per second, and 2 seconds
			{ characters: 8, audioSeconds: 4, requests },
			0,
		],
		[
			{ task: "text-to-speech", input: { text: "你好", encoding: "mp3", speed: 0.5 } },
			"@cf/deepgram/aura-1",
			{ characters: 2, audioSeconds: 5, requests },
			0,
		],
		[
			{ task: "text-to-image", input: { ...imageInput, steps: 4 } },
			"@cf/black-forest-labs/flux-1-schnell",
			{ outputImages: [{ width: 1024, height: 768 }], inputImages: [], steps: 4, requests },
			0,
		],
		[
			{
				task: "text-to-image",
				input: { ...imageInput, images: [image], mask: { bytes: new Uint8Array(9) } },
			},
			"@cf/leonardo/phoenix-1.0",
			{
				outputImages: [{ width: 1024, height: 768 }],
				inputImages: [
					{ width: 800, height: 600 },
					{ width: 1024, height: 1024 },
				],
				steps: 25,
				requests,
			},
			0,
		],
		[
			{ task: "image-classification", input: { image } },
			"@cf/microsoft/resnet-50",
			{ inputImages: [{ width: 800, height: 600 }], requests },
			0,
		],
		[
			{ task: "object-detection", input: { image } },
			"@cf/facebook/detr-resnet-50",
			{ inputImages: [{ width: 800, height: 600 }], requests },
			0,
		],
		[
			{ task: "image-to-text", input: { image, prompt: "What?" } },
			"@cf/llava-hf/llava-1.5-7b-hf",
			{ inputTokens: 256 + 32 + 5 + 6_500, inputImages: [{ width: 800, height: 600 }], requests },
			512,
		],
		[
			{
				task: "live-transcription",
				input: {
					division: { kind: "turns", eot_threshold: 0.7, eot_timeout_ms: 5000 },
				},
			},
			"@cf/deepgram/flux",
			{ liveAudioSeconds: LIVE_SESSION_SECONDS, requests },
			0,
		],
	])("$task", async (call, id, fixed, outputTokens) => {
		expect(await of(call, id)).toEqual({ fixed, outputTokens, outputUnbounded: false });
	});

	it("of a decision has its state, its questions and its media", () => {
		const question = { type: "noul" as const, instructions: "Is it?" };
		const input = {
			model: "clef",
			state: { a: 1 },
			questions: { q: question },
			images: [dataUrl(png(64, 64), "image/png")],
			audio: [dataUrl(wav(8_000), "audio/wav")],
			videos: [],
		};
		const { fixed, outputTokens } = of({ task: "decision", input }, "@cf/cloudflare/clef") as Estimate;
		const json = '{"a": 1}{"type": "noul", "instructions": "Is it?"}';
		// A quarter of a second at 16 kHz and 16 bits.
		const audio = soundTokens(0.25);
		expect(fixed.inputTokens).toBe(256 + 2 * 16 * 2 + 2 * json.length + 6_500 + audio);
		expect(outputTokens).toBe(512);
	});

	it("reads the duration of a file, and uses its bytes if it has none", async () => {
		const estimateOf = (bytes: Uint8Array<ArrayBuffer>) =>
			of(
				{ task: "speech-recognition", input: { audio: { bytes }, task: "transcribe" } },
				"@cf/openai/whisper",
			);
		const { fixed } = await estimateOf(mp3(100));
		expect(fixed.audioSeconds).toBeCloseTo(100 * MP3_FRAME_SECONDS, 1);
		expect((await estimateOf(new Uint8Array(5_000))).fixed.audioSeconds).toBe(10);
	});
});
