/** What a caller is told that a chat used, and what the account's ledger has of it: the same numbers. */
import { describe, expect, it } from "vitest";
import { StreamProgress } from "../../src/backends/transport/progress.ts";
import { usageOf } from "../../src/core/usage.ts";
import { Catalog } from "../../src/models/catalog.ts";
import type { Model } from "../../src/models/model.ts";
import { meter } from "../../src/pipeline/meter.ts";
import { usageFrames } from "../../src/pipeline/usage-frames.ts";
import { EventStream, type StreamEvent } from "../../src/streams/sse.ts";
import type { Answer, TaskCall } from "../../src/tasks/task.ts";
import type { ChatCompletion, ChatInput } from "../../src/tasks/text-generation/types.ts";
import { completion, DONE, delta, finish } from "../gateway.ts";
import { observedExchange } from "./exchanges.ts";

const model = new Catalog().find("@cf/meta/llama-3.3-70b-instruct-fp8-fast") as Model;
const ASKED: ChatInput = { messages: [{ role: "user", content: "Hi" }], stream: true, max_tokens: 50 };
/** "Hi" in a user's message, by our own count: 1, the marks of a message 4, the opening 3. */
const PROMPT_TOKENS = 8;
const TIMERS = { startTimer: () => ({ cancel: () => {} }) };

async function metered(answer: Answer<"text-generation">, input: ChatInput) {
	const { exchange, settled } = observedExchange({ model, admission: {} });
	const call: TaskCall = { task: "text-generation", input };
	const served = { backend: "a", model: "m", attempts: 1, wasted: [] };
	const dispatched = { call, answer: { task: "text-generation", answer }, served } as const;
	const { answer: read } = await meter(exchange, dispatched, model, TIMERS);
	return { read: read.answer, settled };
}

/** The usage of every event, and the settlement. */
async function streamed(frames: readonly string[], input: ChatInput = ASKED, isParsed = true) {
	const progress = new StreamProgress();
	const events = frames.map((text) => ({ text, data: text.slice("data: ".length).trim() }));
	const from = [...events];
	const stream = new EventStream({
		async pull() {
			const next = from.shift();
			if (!next) return undefined;
			const value = next.data === "[DONE]" ? undefined : JSON.parse(next.data);
			if (value) progress.addChunk({ choices: value.choices, usage: usageOf(value.usage) });
			const event = value && isParsed ? { data: next.data, value } : { data: next.data };
			return { bytes: new TextEncoder().encode(next.text), events: [event] };
		},
		async cancel() {},
	});
	const { read, settled } = await metered({ kind: "stream", events: stream, progress }, input);
	if (read.kind !== "stream") throw new Error("no stream");
	const text = await new Response(read.events).text();
	const datas = text.split("\n\n").filter((event) => event !== "");
	const usages = datas
		.map((event) => event.slice("data: ".length))
		.flatMap((data) => (data === "[DONE]" ? [] : (JSON.parse(data).usage ?? [])));
	return { text, last: datas.at(-1), usages, settled };
}

const usageFrame = (usage: object): string =>
	`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage })}\n\n`;

describe("a stream", () => {
	it("of an engine that counts nothing ends with our own count, which is the bill", async () => {
		const { last, usages, settled } = await streamed([delta("Hello"), delta(" you"), finish(), DONE]);
		const usage = { prompt_tokens: PROMPT_TOKENS, completion_tokens: 2, total_tokens: PROMPT_TOKENS + 2 };
		expect(usages).toEqual([usage]);
		expect(last).toBe("data: [DONE]");
		expect(settled).toMatchObject([
			{ outcome: "ok", inputTokens: PROMPT_TOKENS, outputTokens: 2, estimated: true },
		]);
	});

	it("of an engine that counts is passed on as it is", async () => {
		const usage = { prompt_tokens: 30, completion_tokens: 2, total_tokens: 32 };
		const frames = [delta("Hello"), delta(" you"), finish(), usageFrame(usage), DONE];
		const { text, settled } = await streamed(frames);
		expect(text).toBe(frames.join(""));
		expect(settled).toMatchObject([{ inputTokens: 30, outputTokens: 2, estimated: false }]);
	});

	it("whose events no stage has parsed is checked, too", async () => {
		const usage = { prompt_tokens: 30, completion_tokens: 1e8, total_tokens: 1e8 };
		const { usages } = await streamed([delta("Hi"), finish(), usageFrame(usage), DONE], ASKED, false);
		expect(usages).toEqual([{ prompt_tokens: 30, completion_tokens: 1, total_tokens: 31 }]);
	});

	it("of an engine that counts zeros ends with our own count", async () => {
		const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
		const { usages } = await streamed([delta("Hello"), finish(), usageFrame(zeros), DONE]);
		expect(usages).toEqual([{ prompt_tokens: PROMPT_TOKENS, completion_tokens: 1, total_tokens: 9 }]);
	});

	it.each([
		// Neither the claim nor its bound: the tokens of the text.
		[{ prompt_tokens: 30, completion_tokens: 1e8 }, 30, 1],
		[{ prompt_tokens: 30, completion_tokens: 1e12, total_tokens: 1e12 }, 30, 1],
		[{ prompt_tokens: -30, completion_tokens: 7 }, PROMPT_TOKENS, 7],
		[{ prompt_tokens: -30, completion_tokens: 7, total_tokens: -23 }, PROMPT_TOKENS, 7],
		[{ prompt_tokens: 30, completion_tokens: -7, total_tokens: 23 }, 30, 1],
		[{ prompt_tokens: -30, completion_tokens: -7, total_tokens: -37 }, PROMPT_TOKENS, 1],
		[{ prompt_tokens: null, completion_tokens: 7, total_tokens: null }, PROMPT_TOKENS, 7],
		[{ prompt_tokens: 30, completion_tokens: null }, 30, 1],
		[{ prompt_tokens: null, completion_tokens: null, total_tokens: null }, PROMPT_TOKENS, 1],
		[{ prompt_tokens: "many", completion_tokens: "7" }, PROMPT_TOKENS, 7],
		[{ prompt_tokens: 30, completion_tokens: 0, total_tokens: 30 }, 30, 1],
		[{}, PROMPT_TOKENS, 1],
		// Engines may end a few tokens after the limit of 50.
		[{ prompt_tokens: 30, completion_tokens: 53 }, 30, 50],
		[{ prompt_tokens: "30", completion_tokens: "7" }, 30, 7],
		[{ prompt_tokens: 30.4, completion_tokens: 6.6 }, 30, 7],
		[{ prompt_tokens: 30, total_tokens: 37 }, 30, 7],
	])(
		"of %j is checked, for caller and ledger alike",
		async (usage: object, prompt_tokens, completion_tokens) => {
			const { usages, settled } = await streamed([delta("Hi"), finish(), usageFrame(usage), DONE]);
			expect(usages).toHaveLength(1);
			expect(usages.at(-1)).toMatchObject({
				prompt_tokens,
				completion_tokens,
				total_tokens: prompt_tokens + completion_tokens,
			});
			expect(settled).toMatchObject([{ inputTokens: prompt_tokens, outputTokens: completion_tokens }]);
		},
	);

	it("has no negative count in a detail", async () => {
		const prompt_tokens_details = { cached_tokens: -4, cache_write_tokens: -5, audio_tokens: 0 };
		const usage = { prompt_tokens: 30, completion_tokens: 7, prompt_tokens_details };
		const { usages } = await streamed([delta("Hi"), finish(), usageFrame(usage), DONE]);
		expect(usages.at(-1)?.prompt_tokens_details).toEqual({
			cached_tokens: null,
			cache_write_tokens: null,
			audio_tokens: 0,
		});
	});

	it("that counts no prompt while it goes on has ours", async () => {
		const running = (usage: object) =>
			delta("Hi").replace('"created":1,', `"created":1,"usage":${JSON.stringify(usage)},`);
		const { usages } = await streamed([
			running({ prompt_tokens: -1, completion_tokens: 1 }),
			running({ prompt_tokens: 30, completion_tokens: 0 }),
			running({ prompt_tokens: null, completion_tokens: null }),
			finish(),
			usageFrame({ prompt_tokens: 30, completion_tokens: 3 }),
			DONE,
		]);
		expect(usages.map((usage) => [usage.prompt_tokens, usage.completion_tokens])).toEqual([
			[PROMPT_TOKENS, 1],
			[30, 0],
			[30, 3],
		]);
	});

	it("cannot have read more than its prompt has bytes, and a template around it", async () => {
		const usage = { prompt_tokens: 1e8, completion_tokens: 1 };
		const { usages, settled } = await streamed([delta("Hi"), finish(), usageFrame(usage), DONE]);
		expect(usages.at(-1)).toMatchObject({ prompt_tokens: PROMPT_TOKENS, completion_tokens: 1 });
		expect(settled).toMatchObject([{ inputTokens: PROMPT_TOKENS, outputTokens: 1, estimated: true }]);
	});
});

describe("a complete reply", () => {
	const whole = async (usage: object | undefined) => {
		const output = { ...completion("Hello you"), usage: usageOf(usage) } as ChatCompletion;
		const { read, settled } = await metered({ kind: "value", output }, { ...ASKED, stream: false });
		if (read.kind !== "value") throw new Error("a stream");
		return { usage: (read.output as ChatCompletion).usage, settled };
	};

	it("of an engine that counts nothing has our own count, which is the bill", async () => {
		const { usage, settled } = await whole(undefined);
		expect(usage).toEqual({
			prompt_tokens: PROMPT_TOKENS,
			completion_tokens: 2,
			total_tokens: PROMPT_TOKENS + 2,
		});
		expect(settled).toMatchObject([{ inputTokens: PROMPT_TOKENS, outputTokens: 2, estimated: true }]);
	});

	it("is checked as a stream is", async () => {
		const { usage, settled } = await whole({ prompt_tokens: 5, completion_tokens: 1e8, total_tokens: 1e8 });
		expect(usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 });
		expect(settled).toMatchObject([{ inputTokens: 5, outputTokens: 2, estimated: true }]);
	});

	it("with one count has our own in the place of the other", async () => {
		const { usage, settled } = await whole({ prompt_tokens: -5, completion_tokens: 4, total_tokens: -1 });
		expect(usage).toMatchObject({ prompt_tokens: PROMPT_TOKENS, completion_tokens: 4, total_tokens: 12 });
		expect(settled).toMatchObject([{ inputTokens: PROMPT_TOKENS, outputTokens: 4, estimated: true }]);
	});

	it("of which two of three counts are there has the third", async () => {
		const { settled } = await whole({ prompt_tokens: 5, total_tokens: 10 });
		expect(settled).toMatchObject([{ inputTokens: 5, outputTokens: 5 }]);
	});
});

describe("the events of a stream", () => {
	const OWN_COUNT = { prompt_tokens: PROMPT_TOKENS, completion_tokens: 0, total_tokens: PROMPT_TOKENS };

	/** The data of the events, or their comments, after the usage has been added. */
	async function passed(...events: StreamEvent[]): Promise<unknown[]> {
		const call: TaskCall = { task: "text-generation", input: ASKED };
		const piece = usageFrames(call, model, new StreamProgress()).pass({ bytes: new Uint8Array(), events });
		return piece.events.map((event) =>
			"comment" in event ? event : event.data.startsWith("{") ? JSON.parse(event.data) : event.data,
		);
	}

	it("have our own count after the last event that is no comment", async () => {
		const first = { id: "c", created: 1, model: "m", choices: [] };
		expect(await passed({ data: JSON.stringify(first) }, { comment: "ka" }, { data: "[DONE]" })).toEqual([
			first,
			{ comment: "ka" },
			{ ...first, object: "chat.completion.chunk", usage: OWN_COUNT },
			"[DONE]",
		]);
	});

	it.each(["null", "7", "[]"])("have no id of an event that is no chunk: %s", async (data) => {
		expect(await passed({ data }, { data: "[DONE]" })).toEqual([
			data,
			{ object: "chat.completion.chunk", choices: [], usage: OWN_COUNT },
			"[DONE]",
		]);
	});

	it("have no count if there are none", async () => {
		expect(await passed({ comment: "ka" }, { data: "[DONE]" })).toEqual([{ comment: "ka" }, "[DONE]"]);
	});

	it("keep the bytes of a usage that is as it was sent", async () => {
		const usage = '{"total_tokens": 9, "completion_tokens": 1, "prompt_tokens": 8}';
		const event = { data: `{"choices": [], "usage": ${usage}}` };
		const call: TaskCall = { task: "text-generation", input: ASKED };
		const piece = usageFrames(call, model, new StreamProgress()).pass({
			bytes: new Uint8Array(),
			events: [event],
		});
		expect(piece.events).toEqual([event]);
	});

	it("keep a usage that is none", async () => {
		const data = '[{"usage": {"prompt_tokens": 1}}]';
		expect(await passed({ data })).toEqual([data]);
	});
});
