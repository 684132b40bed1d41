import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod";
import { ChunkReader, relayChunks } from "../../../src/backends/transport/chunk-stream.ts";
import { startDeadline } from "../../../src/backends/transport/deadline.ts";
import { postStream } from "../../../src/backends/transport/http.ts";
import { AiError } from "../../../src/core/errors.ts";
import { pick } from "../../../src/core/present.ts";
import { EventStream, type StreamEvent, textOf } from "../../../src/streams/sse.ts";
import chat from "../../fixtures/openai/llama-cpp/chat.sse?raw";
import withoutUsage from "../../fixtures/openai/llama-cpp/chat-no-usage.sse?raw";
import notAscii from "../../fixtures/openai/llama-cpp/chat-not-ascii.sse?raw";
import twoChoices from "../../fixtures/openai/llama-cpp/chat-two-choices.sse?raw";
import completion from "../../fixtures/openai/llama-cpp/completion.sse?raw";
import ollama from "../../fixtures/openai/ollama/chat.sse?raw";
import openaiObfuscated from "../../fixtures/openai/openai/chat.sse?raw";
import vllmTools from "../../fixtures/openai/vllm/tools.sse?raw";
import { turnsUntil } from "../../turns.ts";
import {
	callOf,
	drain,
	eventStream,
	failureOf,
	inPieces,
	KEY,
	type Outcome,
	runningTimers,
	TARGET,
	type TestCall,
	tap,
	withFakeTimers,
} from "../upstream.ts";

const recorded = {
	chat,
	"chat without usage": withoutUsage,
	"chat of two choices": twoChoices,
	"chat that is not ASCII": notAscii,
	completion,
	"vLLM's tools": vllmTools,
	"Ollama's chat": ollama,
	"OpenAI's chat": openaiObfuscated,
	"lines ended by CR LF": chat.replaceAll("\n", "\r\n"),
};

const encode = (text: string) => new TextEncoder().encode(text);

async function open(call: TestCall, choices = 1): Promise<ReadableStream<Uint8Array>> {
	const reply = await postStream(call, "/chat/completions", {}, { schema: z.never(), choices });
	if (reply.kind !== "stream") throw new Error("no stream");
	return reply.events;
}

/** The text of a stream and its failure, whether the call or the stream fails. */
async function stream(body: ReadableStream<Uint8Array> | string, choices = 1): Promise<Outcome> {
	const call = callOf(() => eventStream(body));
	return open(call, choices).then(drain, (error: unknown) => ({ text: "", error }));
}

const delta = (content: string) =>
	`data: {"choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}]}\n\n`;
const finish = (index = 0) => `data: {"choices":[{"index":${index},"delta":{},"finish_reason":"stop"}]}\n\n`;
const DONE = "data: [DONE]\n\n";
const cut = { key: "executionFailed", description: "The backend 'lab' was cut off mid-answer" };

describe("relayChunks", () => {
	it.each(Object.entries(recorded))(
		"forwards the recorded stream of %s byte for byte, for all chunk boundaries",
		async (_, text) => {
			const bytes = encode(text);
			await fc.assert(
				fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 30 }), async (cuts) => {
					expect(await stream(inPieces(bytes, cuts))).toEqual({ text });
				}),
				{ numRuns: 40 },
			);
		},
	);

	it("forwards a stream that arrives one byte at a time", async () => {
		const bytes = encode(notAscii);
		expect(await stream(inPieces(bytes, [...bytes.keys()]))).toEqual({ text: notAscii });
	});

	it("forwards a fast stream of bytes, as the body of a fetch is one, with few pieces", async () => {
		const chunks = [...Array.from({ length: 300 }, (_, i) => delta(`${i}`)), finish(), DONE];
		const text = chunks.join("");
		const body = new ReadableStream({
			type: "bytes",
			pull(controller) {
				const chunk = chunks.shift();
				if (chunk !== undefined) controller.enqueue(encode(chunk));
				else {
					controller.close();
					controller.byobRequest?.respond(0);
				}
			},
		});
		const pieces = EventStream.eventsOf(await open(callOf(() => eventStream(body))));
		const received: string[] = [];
		for (let piece = await pieces.pull(); piece; piece = await pieces.pull())
			received.push(new TextDecoder().decode(piece.bytes));
		expect(received.join("")).toBe(text);
		expect(received.length).toBeLessThan(100);
	});

	it("has each event parsed beside its bytes, for all chunk boundaries", async () => {
		const text = `: ping\n\n${delta("a")}: ka\n\n${delta("b") + finish() + DONE}`;
		const parsed = [
			{ comment: "ping" },
			...[delta("a"), { comment: "ka" }, delta("b"), finish()].map((sent) =>
				typeof sent === "string" ? { data: sent.slice(6, -2), value: JSON.parse(sent.slice(6)) } : sent,
			),
			{ data: "[DONE]" },
		];
		const bytes = encode(text);
		for (let cut = 0; cut <= bytes.length; cut++) {
			const pieces = EventStream.eventsOf(await open(callOf(() => eventStream(inPieces(bytes, [cut])))));
			const events: StreamEvent[] = [];
			for (let piece = await pieces.pull(); piece; piece = await pieces.pull()) {
				events.push(...piece.events);
				expect(new TextDecoder().decode(piece.bytes)).toBe(piece.events.map(textOf).join(""));
			}
			const readable = events.map((event) => ("comment" in event ? event : pick(event, "data", "value")));
			expect(readable).toEqual(parsed);
		}
	});

	it("forwards comments, event names and ids", async () => {
		const text = `: ping\n\nevent: message\nid: 7\nretry: 10\n${delta("a")}data:${finish().slice(6)}${DONE}`;
		expect(await stream(text)).toEqual({ text });
	});
});

describe("an event", () => {
	it("is forwarded as soon as it is complete", async () => {
		const upstream = tap();
		upstream.push(delta("a"));
		const reader = (await open(callOf(() => eventStream(upstream.body)))).getReader();
		const read = async () => new TextDecoder().decode((await reader.read()).value);
		expect(await read()).toBe(delta("a"));
		upstream.push(delta("b").slice(0, 20));
		const second = read();
		upstream.push(delta("b").slice(20) + delta("c").slice(0, 5));
		expect(await second).toBe(delta("b"));
		upstream.push(delta("c").slice(5));
		expect(await read()).toBe(delta("c"));
		await reader.cancel();
	});

	it("may arrive in any number of pieces, without a promise chain that grows with them", async () => {
		const turnsAfter = async (pieces: number): Promise<number> => {
			const upstream = tap();
			upstream.push(delta("a"));
			const reader = (await open(callOf(() => eventStream(upstream.body)))).getReader();
			await reader.read();
			const long = delta("b".repeat(pieces));
			const read = reader.read();
			for (const byte of long.slice(0, -1)) upstream.push(byte);
			await scheduler.wait(20);
			upstream.push(long.slice(-1));
			const turns = await turnsUntil(read);
			expect(new TextDecoder().decode((await read).value)).toBe(long);
			await reader.cancel();
			return turns;
		};
		expect(await turnsAfter(20_000)).toBe(await turnsAfter(10));
	});

	it("is bounded in size", async () => {
		const upstream = tap();
		upstream.push(delta("a"));
		const events = await open(callOf(() => eventStream(upstream.body)));
		upstream.push("data: ");
		for (let sent = 0; sent <= 16; sent++) upstream.push(new Uint8Array(1024 * 1024).fill(97));
		const { text, error } = await drain(events);
		expect(text).toBe(delta("a"));
		expect(error).toMatchObject({ key: "requestTooLarge" });
		expect(upstream.cancelled).toBe(true);
	});
});

describe("a stream that begins", () => {
	/** A pending call, and its outcome so far. */
	function begin() {
		const upstream = tap();
		const call = callOf(() => eventStream(upstream.body));
		const outcomes: string[] = [];
		const events = open(call);
		void events.then(
			() => outcomes.push("begun"),
			() => outcomes.push("failed"),
		);
		return { upstream, call, outcomes, events };
	}
	/** Runs all work that needs no network. */
	const settle = () => scheduler.wait(0);

	it("resolves with its first event", async () => {
		const { upstream, outcomes, events } = begin();
		await settle();
		expect(outcomes).toEqual([]);
		upstream.push(delta("a").slice(0, 30));
		await settle();
		expect(outcomes).toEqual([]);
		upstream.push(delta("a").slice(30));
		await settle();
		expect(outcomes).toEqual(["begun"]);

		const reader = (await events).getReader();
		expect((await reader.read()).value).toEqual(encode(delta("a")));
		const second = reader.read();
		upstream.push(delta("b"));
		expect((await second).value).toEqual(encode(delta("b")));
		await reader.cancel();
	});

	it.each([": ping\n\n", ":\n\n", "\n\n", "retry: 10\n\n", "event: message\n\n"])(
		"does not begin with %j, but sends it before the first event",
		async (keepAlive) => {
			const { upstream, events, outcomes } = begin();
			upstream.push(keepAlive);
			upstream.push(keepAlive);
			await settle();
			expect(outcomes).toEqual([]);
			upstream.push(delta("a"));
			const reader = (await events).getReader();
			expect((await reader.read()).value).toEqual(encode(keepAlive + keepAlive + delta("a")));
			// After the beginning, each comment is forwarded at once.
			const second = reader.read();
			upstream.push(keepAlive);
			expect((await second).value).toEqual(encode(keepAlive));
			await reader.cancel();
		},
	);

	it("keeps at most 4 KiB of comments before the first event", async () => {
		const { upstream, events } = begin();
		const comment = `: ${"x".repeat(1021)}\n\n`;
		for (let sent = 0; sent < 1_000; sent++) upstream.push(comment);
		await settle();
		upstream.push(delta("a"));
		const reader = (await events).getReader();
		const { value } = await reader.read();
		expect(value?.length).toBe(3 * 1025 + delta("a").length);
		await reader.cancel();
	});

	it.each([
		[4_096, 4_096],
		[4_097, 0],
	])("keeps %i bytes of comments before the first event: %i of them", async (sent, kept) => {
		const { upstream, events } = begin();
		upstream.push(`: ${"x".repeat(sent - 4)}\n\n`);
		await settle();
		upstream.push(delta("a"));
		const reader = (await events).getReader();
		expect((await reader.read()).value?.length).toBe(kept + delta("a").length);
		await reader.cancel();
	});

	it("fails when the first event is late, even if comments arrive", async () => {
		vi.useFakeTimers();
		onTestFinished(() => void vi.useRealTimers());
		const upstream = tap();
		const timeouts = { headerMs: 1_000, firstTokenMs: 3_000, idleMs: 2_000, totalMs: 60_000 };
		const call = callOf(() => eventStream(upstream.body), { target: { timeouts } });
		const failure = failureOf(open(call));
		for (let second = 0; second < 3; second++) {
			upstream.push(": ka\n\n");
			await vi.advanceTimersByTimeAsync(1_000);
		}
		expect(await failure).toMatchObject({
			key: "timeout",
			description: "The backend 'lab' was silent for 3000 ms",
		});
		expect(upstream.cancelled).toBe(true);
	});

	it("aborts the upstream's fetch if the caller disconnects between comments and the first event", async () => {
		const { upstream, call, events } = begin();
		upstream.push(": ka\n\n");
		await settle();
		call.disconnect();
		expect(await failureOf(events)).toMatchObject({ key: "aborted" });
		expect(call.requests[0]?.signal.aborted).toBe(true);
		expect(upstream.cancelled).toBe(true);
	});

	it.each([
		['data: {"error":{"message":"m","code":503}}\n\n', { key: "outOfCapacity", retryable: true }],
		['data: {"error":{"message":"m","code":400}}\n\n', { key: "engineRefused", description: "m" }],
		["data: oops\n\n", { key: "executionFailed", retryable: true }],
	])("fails the call if the first event is %j", async (event, failure) => {
		const { upstream, call, events } = begin();
		upstream.push(event + delta("a"));
		const error = await failureOf(events);
		expect(error).toBeInstanceOf(AiError);
		expect(error).toMatchObject({ ...failure, upstream: { backend: "lab" } });
		expect(call.requests[0]?.signal.aborted).toBe(true);
		expect(upstream.cancelled).toBe(true);
	});

	it.each(["", delta("a").slice(0, 30), ": ping"])("fails the call if the body is only %j", async (text) => {
		const { upstream, call, events } = begin();
		upstream.push(text);
		upstream.end();
		expect(await failureOf(events)).toMatchObject(cut);
		expect(call.requests[0]?.signal.aborted).toBe(true);
	});

	it("fails the call if the connection is reset before the first event", async () => {
		const { upstream, events } = begin();
		upstream.reset();
		expect(await failureOf(events)).toMatchObject(cut);
	});

	it("fails the call if the first event is too large", async () => {
		const { upstream, events } = begin();
		for (let sent = 0; sent <= 16; sent++) upstream.push(new Uint8Array(1024 * 1024).fill(97));
		expect(await failureOf(events)).toMatchObject({ key: "requestTooLarge" });
		expect(upstream.cancelled).toBe(true);
	});

	it("fails the call if the caller disconnects before the first event", async () => {
		const { upstream, call, events } = begin();
		await settle();
		call.disconnect();
		expect(call.requests[0]?.signal.aborted).toBe(true);
		expect(await failureOf(events)).toMatchObject({ key: "aborted" });
		expect(upstream.cancelled).toBe(true);
	});

	it("forwards a valid first event before it fails with the second", async () => {
		const { upstream, events } = begin();
		upstream.push(`${delta("a")}data: {"error":{"message":"m","code":503}}\n\n`);
		expect(await drain(await events)).toMatchObject({ text: delta("a"), error: { key: "outOfCapacity" } });
	});
});

describe("a stream that is interrupted", () => {
	it.each(["\n", "\r\n"])(
		"at any byte forwards the complete events, and errors unless all choices have finished (%j)",
		async (newline) => {
			const events = chat.split("\n\n").filter(Boolean);
			const blank = newline + newline;
			const text = events.map((event) => event + blank).join("");
			const finishing = events.findIndex((event) => event.includes('"finish_reason":"length"'));
			for (let length = 0; length <= text.length; length += length < 400 ? 1 : 5) {
				const sent = text.slice(0, length);
				const outcome = await stream(inPieces(encode(sent), [length >> 1]));

				const complete = sent.split(blank).slice(0, -1);
				const head = complete.map((event) => event + blank).join("");
				const tail = sent.slice(head.length);
				// An event without its blank line.
				const tailIsEvent = tail.trim() !== "" && tail.trim() === events[complete.length];
				const expected = tailIsEvent ? `${head}${tail}\n\n` : head;
				const count = complete.length + (tailIsEvent ? 1 : 0);
				if (count <= finishing) {
					expect(outcome.error).toMatchObject(cut);
					expect(outcome.text).toBe(expected);
				} else expect(outcome).toEqual({ text: count === events.length ? expected : expected + DONE });
			}
		},
	);

	it("by a reset errors, too", async () => {
		const upstream = tap();
		upstream.push(delta("a"));
		const reader = (await open(callOf(() => eventStream(upstream.body)))).getReader();
		expect((await reader.read()).value).toEqual(encode(delta("a")));
		upstream.reset();
		expect(await failureOf(reader.read())).toMatchObject({
			...cut,
			cause: new Error("Error: connection reset"),
		});
	});

	it("before its first byte fails the call", async () => {
		expect(await stream("")).toMatchObject({ text: "", error: cut });
	});
});

describe("a stream without [DONE]", () => {
	it("is complete if every choice has finished", async () => {
		expect(await stream(delta("a") + finish())).toEqual({ text: delta("a") + finish() + DONE });
	});

	it("is complete only after the requested number of choices", async () => {
		expect(await stream(finish(0), 2)).toMatchObject({ text: finish(0), error: cut });
		expect(await stream(finish(0) + finish(0), 2)).toMatchObject({ error: cut });
		expect(await stream(finish(0) + finish(1), 2)).toEqual({ text: finish(0) + finish(1) + DONE });
		// A choice without a number is the first.
		const unnumbered = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n';
		expect(await stream(finish(0) + unnumbered, 2)).toMatchObject({ error: cut });
		expect(await stream(unnumbered + finish(1), 2)).toEqual({ text: unnumbered + finish(1) + DONE });
	});

	it("has the sum of the usage of its choices, in its bytes and in its parsed events", async () => {
		const event = (index: number, counted: number, completion_tokens: number) => ({
			choices: [{ index, delta: {}, finish_reason: "stop" }],
			usage: { prompt_tokens: 3, completion_tokens, total_tokens: 3 + completion_tokens },
			timings: { predicted_n: counted },
		});
		const text = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
		const sent = text(event(0, 2, 2)) + delta("a") + text(event(1, 4, 4));
		const summed = text(event(0, 2, 2)) + delta("a") + text(event(1, 4, 6));
		expect(await stream(sent, 2)).toEqual({ text: summed + DONE });
		expect(await stream(inPieces(encode(sent), [10, 200]), 2)).toEqual({ text: summed + DONE });
		const pieces = EventStream.eventsOf(
			await open(
				callOf(() => eventStream(sent)),
				2,
			),
		);
		const { events = [] } = (await pieces.pull()) ?? {};
		await pieces.cancel(undefined);
		expect(events.at(-1)).toEqual({
			data: JSON.stringify(event(1, 4, 6)),
			value: event(1, 4, 6),
		});
		// One choice has the engine's own usage.
		expect(await stream(sent)).toEqual({ text: sent + DONE });
	});

	it("has the sum also if the events differ only in their content", async () => {
		const event = (content: string, completion_tokens: number) =>
			`data: ${JSON.stringify({
				choices: [{ index: 0, delta: { content }, finish_reason: null }],
				usage: { prompt_tokens: 3, completion_tokens, total_tokens: 3 + completion_tokens },
				timings: { predicted_n: 2 },
			})}\n\n`;
		const ends = finish(0) + finish(1) + DONE;
		expect(await stream(event("a", 2) + event("b", 2) + ends, 2)).toEqual({
			text: event("a", 2) + event("b", 4) + ends,
		});
	});

	it("is not complete while finish_reason is empty", async () => {
		const unfinished = delta("a").replace("null", '""');
		expect(await stream(unfinished)).toMatchObject({ text: unfinished, error: cut });
		expect(await stream(unfinished + finish())).toEqual({ text: unfinished + finish() + DONE });
	});

	it("is complete without its last blank line", async () => {
		const text = delta("a") + finish().trimEnd();
		expect(await stream(text)).toEqual({ text: `${text}\n\n${DONE}` });
	});

	it("is complete on a reset, if every choice has finished", async () => {
		const upstream = tap();
		upstream.push(finish());
		const reader = (await open(callOf(() => eventStream(upstream.body)))).getReader();
		await reader.read();
		upstream.reset();
		expect((await reader.read()).value).toEqual(encode(DONE));
		expect((await reader.read()).done).toBe(true);
	});
});

describe("[DONE]", () => {
	it("counts without its blank line", async () => {
		expect(await stream(`${delta("a")}data: [DONE]`)).toEqual({ text: delta("a") + DONE });
	});

	it("ends the stream: nothing after it is forwarded", async () => {
		expect(await stream(`${delta("a")}${DONE}data: {"error":{"message":"late"}}\n\n`)).toEqual({
			text: delta("a") + DONE,
		});
	});

	it.each([
		DONE,
		`: ka\n\n${DONE}`,
		`data: {}\n\n${DONE}`,
		`data: {"choices":[]}\n\n${DONE}`,
		`data: {"choices":null,"usage":{"prompt_tokens":1,"completion_tokens":0}}\n\n${DONE}`,
	])("fails the call if no choice precedes it: %j", async (text) => {
		expect((await stream(text)).error).toMatchObject({
			key: "executionFailed",
			description:
				"The backend 'lab' answered with something that is not an answer: it ended before it began",
		});
	});
});

describe("an error inside a stream", () => {
	it.each([
		['data: {"error":{"message":"out of memory","type":"server_error","code":500}}', "executionFailed"],
		['data: {"error":{"message":"m","type":"rate_limit_error","code":null}}', "outOfCapacity"],
		['data: {"object":"error","message":"m","type":"BadRequestError","code":400}', "engineRefused"],
		['data: {"error":"m"}', "executionFailed"],
		['event: error\ndata: {"message":"m","code":503}', "outOfCapacity"],
	])("%s ends it as %s, and is not forwarded", async (event, key) => {
		const { text, error } = await stream(`${delta("a")}${event}\n\n${delta("b")}${DONE}`);
		expect(text).toBe(delta("a"));
		expect(error).toBeInstanceOf(AiError);
		expect(error).toMatchObject({ key });
	});

	it("is not searched for in the model's text", async () => {
		const text = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: '{"error":{}}' }, finish_reason: "stop" }], error: null })}\n\n${DONE}`;
		expect(await stream(text)).toEqual({ text });
	});

	it("has no secrets", async () => {
		const { error } = await stream(`data: {"error":{"message":"bad ${KEY}","code":400}}\n\n`);
		expect(error).toMatchObject({ description: "bad [redacted]" });
	});
});

describe("an event that is malformed", () => {
	it.each(["data: oops", "data: {oops}", 'data: {"choices":[{"delta":{"content":"x"}', "data: 5"])(
		"%s ends the stream",
		async (event) => {
			const { text, error } = await stream(`${delta("a")}${event}\n\n${finish()}${DONE}`);
			expect(text).toBe(delta("a"));
			expect(error).toMatchObject({
				key: "executionFailed",
				description: "The backend 'lab' answered with something that is not a chat stream",
			});
		},
	);

	it("may have choices of any shape", async () => {
		const text = 'data: {"choices":[null,{},{"finish_reason":7}]}\n\ndata: {"choices":"x"}\n\n';
		expect(await stream(text + DONE)).toEqual({ text: text + DONE });
	});

	it.each([
		// Six characters and JSON, as in an event.
		':12345{"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
		": ping\n\n",
		'data: {"choices":[]}\n',
		'data: {"choices":[]}\r\n\r\n',
		'event: a\ndata: {"choices":[]}\n\n',
		"data: 1\n\n",
		"data: {\n\n",
		'data: {"error":{"message":"a"}}\n\n',
	])("is not read together with others unless it is a chunk of one line: %j", (event) => {
		const eventReader = new ChunkReader(
			callOf(() => eventStream("")),
			{ choices: 1 },
		);
		expect(eventReader.readTogether(encode(event), 1)).toBe(false);
		expect(eventReader.progress.outputTokens).toBe(0);
	});

	it.each([1, 2])(
		"is counted with its usage, together with others or by itself, for %i choices",
		(choices) => {
			const usage = (completion_tokens: number) => ({
				prompt_tokens: 3,
				completion_tokens,
				total_tokens: 3 + completion_tokens,
			});
			const event = (index: number, tokens: number) =>
				`data: ${JSON.stringify({
					choices: [{ index, delta: { content: "a" }, finish_reason: "stop" }],
					usage: usage(tokens),
					timings: { predicted_n: tokens },
				})}\n\n`;
			const texts = [event(0, 2), event(1, 4)];
			const newReader = () =>
				new ChunkReader(
					callOf(() => eventStream("")),
					{ choices },
				);
			const together = newReader();
			expect(together.readTogether(encode(texts.join("")), 2)).toBe(true);
			const separate = newReader();
			for (const text of texts) expect(separate.read(encode(text), [])).toBeUndefined();
			for (const { progress } of [together, separate]) {
				expect(progress.usage).toEqual(usage(choices === 1 ? 4 : 6));
				expect(progress.outputTokens).toBe(2);
			}
		},
	);

	it.each([
		["with Anthropic's names of the counts", { usage: { input_tokens: 3, output_tokens: 4 } }],
		[
			"beside an empty one, at Groq",
			{ usage: {}, x_groq: { usage: { prompt_tokens: 3, completion_tokens: 4 } } },
		],
		["in the last choice", { usage: null, choice: { usage: { prompt_tokens: 3, completion_tokens: 4 } } }],
	])("of a chat is counted with its usage, %s", (_, { choice, ...fields }: Record<string, object | null>) => {
		const eventReader = new ChunkReader(
			callOf(() => eventStream("")),
			{ choices: 1, chat: () => ({}) as never },
		);
		const choices = [{ index: 0, delta: { role: "assistant", content: "a" }, ...choice }];
		expect(
			eventReader.read(encode(`data: ${JSON.stringify({ choices, ...fields })}\n\n`), []),
		).toBeUndefined();
		expect(eventReader.progress.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 4 });
	});

	it("[DONE] is read together with others only after a choice, and as one line", () => {
		const eventReader = new ChunkReader(
			callOf(() => eventStream("")),
			{ choices: 1 },
		);
		const reads = (text: string, count: number): boolean[] => [
			eventReader.readTogether(encode(text), count),
			eventReader.done,
		];
		expect(reads(DONE, 1)).toEqual([false, false]);
		expect(reads(`data: {"choices":[]}\n\n${DONE}`, 2)).toEqual([false, false]);
		expect(reads(delta("a") + DONE, 2)).toEqual([false, false]);
		expect(reads(delta("a") + delta("b"), 3)).toEqual([false, false]);
		expect(reads(delta("a") + delta("b"), 2)).toEqual([true, false]);
		expect(reads(`event: x\n${DONE}`, 1)).toEqual([false, false]);
		expect(reads(delta("a") + DONE, 2)).toEqual([true, true]);
		expect(reads(DONE, 1)).toEqual([true, true]);
		expect(reads("", 0)).toEqual([true, true]);
	});

	it("may have fields of any type, together with others or by itself", async () => {
		// Converting such an object to text throws.
		const any = fc.oneof(fc.jsonValue(), fc.constant({ toString: 1, valueOf: 1 }));
		const field = <T>(value: fc.Arbitrary<T>) => fc.oneof(value, any);
		const called = fc.record({ name: any, arguments: any }, { requiredKeys: [] });
		const calls = fc.array(field(fc.record({ function: field(called) }, { requiredKeys: [] })));
		const fields = {
			content: any,
			reasoning_content: any,
			reasoning: any,
			refusal: any,
			tool_calls: field(calls),
		};
		const choice = fc.record(
			{ index: any, finish_reason: any, text: any, delta: field(fc.record(fields, { requiredKeys: [] })) },
			{ requiredKeys: [] },
		);
		const chunk = fc.record(
			{
				choices: field(fc.array(field(choice))),
				usage: any,
				timings: field(fc.record({ predicted_n: any })),
			},
			{ requiredKeys: [] },
		);
		const read = (bytes: Uint8Array, choices: number) => {
			const eventReader = new ChunkReader(
				callOf(() => eventStream("")),
				{ choices },
			);
			expect(eventReader.read(bytes, [])).toBeUndefined();
			expect(eventReader.readTogether(bytes, 1)).toBe(true);
		};
		fc.assert(
			fc.property(chunk, (sent) => {
				for (const choices of [1, 2]) read(encode(`data: ${JSON.stringify(sent)}\n\n`), choices);
			}),
			{
				numRuns: 500,
				examples: [
					[{ choices: [{ delta: { tool_calls: [null] } }] }],
					[{ choices: [{ delta: { tool_calls: "x" } }] }],
					[{ choices: [{ delta: { content: { toString: 1 } } }] }],
					[{ timings: { predicted_n: 1 } }],
					[{ timings: null, usage: { prompt_tokens: 1, completion_tokens: 1 } }],
					[{ timings: "x", usage: { prompt_tokens: 1, completion_tokens: 1 } }],
				],
			},
		);
		const text = 'data: {"choices":[{"delta":{"tool_calls":[null]}}]}\n\n';
		expect(await stream(delta("a") + text + DONE)).toEqual({ text: delta("a") + text + DONE });
	});

	it("ends the upstream's fetch", async () => {
		const upstream = tap();
		const call = callOf(() => eventStream(upstream.body));
		upstream.push(delta("a"));
		const events = await open(call);
		upstream.push("data: oops\n\n");
		await drain(events);
		expect(call.requests[0]?.signal.aborted).toBe(true);
		expect(upstream.cancelled).toBe(true);
	});
});

describe("time limits", () => {
	const { idleMs, totalMs } = TARGET.timeouts;

	withFakeTimers();

	/** A stream that has begun. */
	async function opened() {
		const upstream = tap();
		const call = callOf(() => eventStream(upstream.body));
		upstream.push(delta("a"));
		const reader = (await open(call)).getReader();
		await reader.read();
		return { upstream, call, reader };
	}

	it("apply between two pieces, from the last piece", async () => {
		const { upstream, call, reader } = await opened();
		for (let piece = 0; piece < 3; piece++) {
			const read = reader.read();
			await vi.advanceTimersByTimeAsync(idleMs - 300);
			upstream.push(delta("a"));
			await read;
		}
		const read = failureOf(reader.read());
		await vi.advanceTimersByTimeAsync(idleMs - 1);
		expect(call.requests[0]?.signal.aborted).toBe(false);
		await vi.advanceTimersByTimeAsync(1);
		expect(await read).toMatchObject({
			key: "timeout",
			description: `The backend 'lab' was silent for ${idleMs} ms`,
		});
		expect(call.requests[0]?.signal.aborted).toBe(true);
		expect(upstream.cancelled).toBe(true);
	});

	it("do not count the time of a slow reader", async () => {
		const { upstream, reader } = await opened();
		const first = reader.read();
		upstream.push(delta("a"));
		await first;
		await vi.advanceTimersByTimeAsync(idleMs * 3);
		const second = reader.read();
		upstream.push(delta("b"));
		expect((await second).value).toEqual(encode(delta("b")));
		await reader.cancel();
	});

	it("apply to the complete call, with or without a reader", async () => {
		const { call, upstream, reader } = await opened();
		await vi.advanceTimersByTimeAsync(totalMs);
		expect(call.requests[0]?.signal.aborted).toBe(true);
		expect(upstream.cancelled).toBe(true);
		expect(await failureOf(reader.read())).toMatchObject({ key: "modelTimeout" });
	});

	it("do not fail a stream in which every choice has finished", async () => {
		const { upstream, reader } = await opened();
		upstream.push(finish());
		await reader.read();
		const read = reader.read();
		await vi.advanceTimersByTimeAsync(idleMs);
		expect((await read).value).toEqual(encode(DONE));
		expect((await reader.read()).done).toBe(true);
	});

	it("close a connection that stays open 1 s after [DONE]", async () => {
		const { upstream, reader } = await opened();
		upstream.push(DONE);
		await reader.read();
		const read = reader.read();
		await vi.advanceTimersByTimeAsync(1000);
		expect((await read).done).toBe(true);
		expect(upstream.cancelled).toBe(true);
	});

	it("apply to the first event, and fail the call", async () => {
		const upstream = tap();
		const call = callOf(() => eventStream(upstream.body));
		const failure = failureOf(open(call));
		await vi.advanceTimersByTimeAsync(idleMs - 1);
		expect(call.requests[0]?.signal.aborted).toBe(false);
		await vi.advanceTimersByTimeAsync(1);
		expect(await failure).toMatchObject({ key: "timeout" });
		expect(call.requests[0]?.signal.aborted).toBe(true);
		expect(upstream.cancelled).toBe(true);
	});

	it("do not drop a complete answer that has not been read", async () => {
		const upstream = tap();
		upstream.push(delta("a") + finish());
		const events = await open(callOf(() => eventStream(upstream.body)));
		await vi.advanceTimersByTimeAsync(totalMs);
		expect(await drain(events)).toEqual({ text: delta("a") + finish() + DONE });
	});

	it("end with the stream", async () => {
		const { upstream, call, reader } = await opened();
		upstream.push(DONE);
		upstream.end();
		while (!(await reader.read()).done);
		expect(runningTimers()).toBe(0);
		expect(call.requests[0]?.signal.aborted).toBe(false);
	});
});

describe("cancelling", () => {
	it.each(["before the first read", "between events", "during a read"])(
		"%s ends the upstream's fetch at once",
		async (phase) => {
			const upstream = tap();
			const call = callOf(() => eventStream(upstream.body));
			upstream.push(delta("a") + delta("b").slice(0, 9));
			const reader = (await open(call)).getReader();
			if (phase !== "before the first read") await reader.read();
			const read = phase === "during a read" ? reader.read() : undefined;
			const cancelled = reader.cancel();
			expect(call.requests[0]?.signal.aborted).toBe(true);
			expect(upstream.cancelled).toBe(true);
			await cancelled;
			if (read) expect((await read).done).toBe(true);
		},
	);

	it("after the end has no effect", async () => {
		const call = callOf(() => eventStream(delta("a") + DONE));
		const events = await open(call);
		const reader = events.getReader();
		while (!(await reader.read()).done);
		await reader.cancel();
		expect(call.requests[0]?.signal.aborted).toBe(false);
	});
});

describe("a caller who disconnects during a stream", () => {
	it("ends the upstream's fetch and errors the stream, even if every choice has finished", async () => {
		const upstream = tap();
		const call = callOf(() => eventStream(upstream.body));
		upstream.push(finish());
		const reader = (await open(call)).getReader();
		await reader.read();
		call.disconnect();
		expect(call.requests[0]?.signal.aborted).toBe(true);
		expect(await failureOf(reader.read())).toMatchObject({ key: "aborted" });
		expect(upstream.cancelled).toBe(true);
	});
});

describe("events that are read together", () => {
	const first = 'data: {"choices":[]}\n\n';

	it.each([
		["two events", 'data: {"choices":[]}\n\n', true],
		["an event whose second line is no data", 'data: {"choices":\n[]}\n\n', false],
		["an event with a carriage return", 'data: {"choices":\r[]}\n\n', false],
		["an event of two lines", 'data: {"choices":\ndata: []}\n\n', false],
		["a comment", ": ka\n\n", false],
		["the end", "data: [DONE]\n\n", false],
		["no JSON", "data: {\n\n", false],
	])("are %s", (_, second, expected) => {
		const reader = new ChunkReader(
			callOf(() => eventStream("")),
			{ choices: 1 },
		);
		expect(reader.readTogether(encode(first + second), 2)).toBe(expected);
	});
});

it("passes the bytes of a stream through if the caller has a format for its errors", async () => {
	const call = callOf(() => eventStream(""));
	const source = new ReadableStream({
		type: "bytes",
		start(controller) {
			controller.enqueue(encode(chat));
			controller.close();
		},
	});
	const stream = { call, source, deadline: startDeadline(call) };
	const relayed = await relayChunks(stream, {
		choices: 1,
		streamEnd: { onFailure: () => "data: failure\n\n" },
	});
	expect(relayed.ended).toBeInstanceOf(Promise);
	expect(await new Response(relayed.events).text()).toBe(chat);
	expect(await relayed.ended).toBeUndefined();
});

it("ends if the call is aborted between its first event and the stream", async () => {
	const upstream = tap();
	const call = callOf(() => eventStream(""));
	const deadline = startDeadline(call);
	const race = deadline.race.bind(deadline);
	deadline.race = async (work) => {
		const first = await race(work);
		deadline.abort(new AiError("aborted"));
		return first;
	};
	upstream.push(delta("a"));
	const { events } = await relayChunks({ call, source: upstream.body, deadline }, { choices: 1 });
	const { text, error } = await drain(events);
	expect(text).toBe(delta("a"));
	expect(error).toMatchObject({ key: "aborted" });
	expect(upstream.cancelled).toBe(true);
});
