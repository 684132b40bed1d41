import { describe, expect, it } from "vitest";
import type { Measured } from "../../src/counting/quantities.ts";
import { encodeBase64 } from "../../src/media/base64.ts";
import type { Model } from "../../src/models/model.ts";
import type { TaskCall } from "../../src/tasks/task.ts";
import type { ChatCompletion, ChatInput } from "../../src/tasks/text-generation/types.ts";
import {
	boundOutput,
	countInput,
	definitionOf,
	isHedgeable,
	isResumable,
	isSession,
	isShareable,
	plausibleUsage,
} from "../../src/tasks/traits.ts";
import { modelOf, mp3, wav } from "./parts.ts";

const LLAMA = modelOf("@cf/meta/llama-3.1-8b-instruct-fp8");
const M3 = modelOf("@cf/baai/bge-m3");

const checkContext = (call: TaskCall, model: Model, exact: boolean) =>
	definitionOf(call).checkContext?.(call.input, model, exact);
const choicesOf = (call: TaskCall) => definitionOf(call).choices?.(call.input) ?? 1;
const completeUsage = (call: TaskCall, output: unknown, measured: Measured) =>
	definitionOf(call).completeUsage?.(output, measured);
const discardedUsage = (call: TaskCall, output: unknown) => definitionOf(call).discardedUsage?.(output);
const droppedOf = (call: TaskCall) => definitionOf(call).dropped?.(call.input, undefined);
const unsupportedBy = (call: TaskCall, kind: string) => definitionOf(call).unsupportedBy?.(call.input, kind);

const chat = (input: Partial<ChatInput> = {}): TaskCall => ({
	task: "text-generation",
	input: { messages: [{ role: "user", content: "Hi" }], stream: false, ...input },
});
const embed = (texts: string[], truncate?: boolean): TaskCall => ({
	task: "text-embeddings",
	input: { texts, ...(truncate !== undefined && { truncate }) },
});
const live: TaskCall = {
	task: "live-transcription",
	input: { division: { kind: "segments", interim_results: false, vad_events: false } },
};
const rank: TaskCall = { task: "reranking", input: { query: "q", contexts: ["a", "b"] } };

const reply = (usage?: ChatCompletion["usage"]): ChatCompletion => ({
	id: "1",
	object: "chat.completion",
	created: 0,
	model: "m",
	choices: [],
	...(usage !== undefined && { usage }),
});
const OUR_COUNT: Measured = { quantities: { inputTokens: 3, outputTokens: 4 }, estimated: true };
const OWN_USAGE = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };

describe("the traits of a call", () => {
	it.each([
		["a chat", chat(), { session: false, hedged: true, shared: true, resumed: true }],
		[
			"a streamed chat",
			chat({ stream: true }),
			{ session: false, hedged: true, shared: false, resumed: true },
		],
		["a live session", live, { session: true, hedged: false, shared: false, resumed: false }],
		["a ranking", rank, { session: false, hedged: true, shared: true, resumed: false }],
	])("%s", (_, call, expected) => {
		expect({
			session: isSession(call),
			hedged: isHedgeable(call),
			shared: isShareable(call),
			resumed: isResumable(call),
		}).toEqual(expected);
	});

	it("returns the parts that the answer ignores", () => {
		expect(droppedOf(chat({ dropped: ["tools.web_search"] }))).toEqual(["tools.web_search"]);
		expect(droppedOf(chat({ dropped: [] }))).toBeUndefined();
		expect(droppedOf(rank)).toBeUndefined();
	});

	it("have a reason for backends that cannot answer them", () => {
		const verbatim = { dialect: "anthropic" as const, body: {}, messages: 1, unconverted: "tools.0.type" };
		expect(unsupportedBy(chat({ verbatim }), "openai")).toEqual({
			failure: "noSuchModel",
			reason: "does not support all of the request (tools.0.type)",
		});
		expect(unsupportedBy(chat({ verbatim }), "anthropic")).toBeUndefined();
		const passthrough = { modalities: ["text", "audio"] };
		expect(unsupportedBy(chat({ passthrough }), "ollama")).toEqual({
			failure: "invalidInput",
			field: "modalities",
			reason: "does not generate audio",
		});
		expect(unsupportedBy(chat({ passthrough }), "openai")).toBeUndefined();
		expect(unsupportedBy(rank, "ollama")).toBeUndefined();
	});
});

describe("the limit of the output", () => {
	it.each([
		["no limit", {}, 100],
		["a higher limit", { max_tokens: 200 }, 100],
		["a lower limit", { max_tokens: 50 }, 50],
		["three choices", { n: 3 }, 33],
		["more choices than tokens", { n: 128 }, 1],
	])("with %s", (_, input, max_tokens) => {
		expect(boundOutput(chat(input), 100)).toEqual(chat({ ...input, max_tokens }));
	});

	it("is not set if a task has none", () => {
		expect(boundOutput(rank, 100)).toBe(rank);
		expect([choicesOf(chat({ n: 3 })), choicesOf(chat()), choicesOf(rank)]).toEqual([3, 1, 1]);
	});
});

describe("the context window", () => {
	it("refuses a prompt that is certainly too long", () => {
		const model = { ...LLAMA, contextWindow: 100 };
		const text = Array.from({ length: 200 }, () => "word").join(" ");
		expect(() => checkContext(chat({ messages: [{ role: "user", content: text }] }), model, false)).toThrow(
			"exceeded this model context window limit (100)",
		);
		expect(() => checkContext(chat({ max_tokens: 80 }), model, false)).not.toThrow();
	});

	it("counts exactly if the engine counts as the gateway does", () => {
		// Eight tokens: the opening (3), one message (4), `Hi`.
		const model = { ...LLAMA, contextWindow: 20 };
		expect(() => checkContext(chat({ max_tokens: 12 }), model, true)).not.toThrow();
		expect(() => checkContext(chat({ max_tokens: 13 }), model, true)).toThrow("(21)");
	});

	it("refuses texts that BGE-M3 must not truncate", () => {
		const model = { ...M3, maxInputTokens: 4, contextWindow: 6 };
		expect(() => checkContext(embed(["a b c d e f g h"]), model, false)).toThrow("Sequence too long: ");
		expect(() => checkContext(embed(["a b c", "d e f", "g h i"]), model, false)).toThrow(
			"Max context reached",
		);
		expect(() => checkContext(embed(["a b c d e f g h"], true), model, false)).not.toThrow();
		const other = { ...modelOf("@cf/baai/bge-base-en-v1.5"), maxInputTokens: 4 };
		expect(() => checkContext(embed(["a b c d e f g h"]), other, false)).not.toThrow();
	});
});

describe("counts", () => {
	it("adds the usage if the engine has no counts", () => {
		const ours = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
		const [without, zeros, counted] = [
			reply(),
			reply({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }),
			reply(OWN_USAGE),
		];
		for (const output of [without, zeros]) completeUsage(chat(), output, OUR_COUNT);
		const measured = { quantities: { inputTokens: 1, outputTokens: 2 }, estimated: false };
		completeUsage(chat(), counted, measured);
		expect([without.usage, zeros.usage, counted.usage]).toEqual([ours, ours, OWN_USAGE]);
		const ranks = { ranks: [] };
		completeUsage(rank, ranks, OUR_COUNT);
		expect(ranks).toEqual({ ranks: [] });
	});

	it("returns the usage of a discarded reply", () => {
		expect(discardedUsage(chat(), reply(OWN_USAGE))).toEqual(OWN_USAGE);
		expect(discardedUsage(chat(), reply(null))).toBeUndefined();
		expect(discardedUsage(embed(["a"]), { vectors: [[1]], usage: OWN_USAGE })).toBeUndefined();
	});

	it("counts only the input of chats", () => {
		expect(countInput(chat())).toBe(8);
		expect(countInput(rank)).toBeUndefined();
	});
});

describe("an engine's count of audio", () => {
	const minutes = wav(600 * 16_000, { rate: 8_000 });
	// One block of 256 bytes has 505 samples.
	const adpcm = wav(Math.ceil((600 * 8_000) / 505) * 256, {
		format: 2,
		bits: 4,
		rate: 8_000,
		bytesPerSecond: 2 ** 31,
	});
	it.each([
		["ten minutes of samples, 32 tokens a second", "wav", [minutes], 600 * 32],
		["ten minutes of ADPCM, whose header declares a false rate", "wav", [adpcm], 600 * 32],
		[
			"20 sounds of one second, each filled up to 30",
			"wav",
			Array<Uint8Array>(20).fill(wav(32_000)),
			20 * 375,
		],
		[
			"20 short MP3 files, each filled up to 30 seconds",
			"mp3",
			Array<Uint8Array>(20).fill(mp3(100)),
			20 * 375,
		],
	])("is kept: %s", (_, format, files, prompt_tokens) => {
		const content = files.map((bytes) => ({
			type: "input_audio" as const,
			input_audio: { data: encodeBase64(bytes), format },
		}));
		const usage = { prompt_tokens, completion_tokens: 3, total_tokens: prompt_tokens + 3 };
		expect(plausibleUsage(usage, chat({ messages: [{ role: "user", content }] }), LLAMA)).toBe(usage);
	});

	it("is not kept if no engine can count so much", () => {
		const input_audio = { data: encodeBase64(wav(32_000)), format: "wav" };
		const content = [{ type: "input_audio" as const, input_audio }];
		const usage = { prompt_tokens: 4_000, completion_tokens: 3, total_tokens: 4_003 };
		const call = chat({ messages: [{ role: "user", content }] });
		expect(plausibleUsage(usage, call, LLAMA)).toEqual({
			prompt_tokens: 0,
			completion_tokens: 3,
			total_tokens: 3,
		});
	});
});
