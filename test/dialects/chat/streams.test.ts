/** Requirements on chat streams in every dialect. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { relayChunks } from "../../../src/backends/transport/chunk-stream.ts";
import { startDeadline } from "../../../src/backends/transport/deadline.ts";
import { StreamProgress } from "../../../src/backends/transport/progress.ts";
import { AiError } from "../../../src/core/errors.ts";
import { openaiCompletions } from "../../../src/dialects/chat/completions.ts";
import { openaiChat } from "../../../src/dialects/chat/openai-route.ts";
import type { Dialect } from "../../../src/dialects/dialect.ts";
import { nativeDialect } from "../../../src/dialects/native.ts";
import type { Model } from "../../../src/models/model.ts";
import { DONE } from "../../../src/streams/sse.ts";
import { callOf, eventStream } from "../../backends/upstream.ts";
import { codePoint } from "../../code-point.ts";
import { streamAnswer } from "../read-write.ts";
import {
	anyCuts,
	delta,
	failing,
	finish,
	hubText,
	KIMI,
	LLAMA_70B,
	QWEN,
	R1,
	split,
	USAGE,
	usageChunk,
	write,
} from "./chat.ts";

const messages = [{ role: "user", content: "Hello" }];
const WRITERS: [name: string, model: Model, sent: object, dialect: Dialect][] = [
	["native", LLAMA_70B, { messages }, nativeDialect(LLAMA_70B)],
	["native, reasoning", R1, { messages }, nativeDialect(R1)],
	["a model of OpenAI's form", KIMI, { messages }, nativeDialect(KIMI)],
	["text completions", QWEN, { prompt: "Hello" }, nativeDialect(QWEN)],
	["the OpenAI route", LLAMA_70B, { messages }, openaiChat],
	["the OpenAI route with usage", KIMI, { messages, stream_options: { include_usage: true } }, openaiChat],
	["the OpenAI route for completions", KIMI, { prompt: "Hello" }, openaiCompletions],
];

const HUB = [
	{ reasoning_content: "Hmm — 🤔" },
	{ content: 'Olá, "世界"\n' },
	{ content: "👩‍👩‍👧 data: [DONE]\n\n" },
	{ tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: '{"é":' } }] },
	{ tool_calls: [{ index: 0, function: { arguments: "1}" } }] },
];

const anyText = fc.oneof(
	{ weight: 3, arbitrary: fc.constantFrom(" word", "the", "\n", '"', "\\", "é", "</think>") },
	fc.string({ unit: codePoint, maxLength: 12 }),
);
/** Events of engines. The first kind is copied, if the one before it was of the same kind. */
const anyEvent = fc.oneof(
	{ weight: 8, arbitrary: anyText.map((content) => delta({ content })) },
	{
		weight: 2,
		arbitrary: anyText.map((content) => delta({ content, tool_calls: null }, { model: "another" })),
	},
	anyText.map((content) => delta({ content }).replaceAll(/[^\0-\x7f]/g, "\\u00e9")),
	anyText.map((content) => delta({ content }).replaceAll(",", ", ").replace("data: ", "data:")),
	anyText.map((content) => delta({ content }, { id: undefined })),
	anyText.map((content) =>
		delta({ content }, { usage: { ...USAGE, completion_tokens: 1, total_tokens: 11 } }),
	),
	anyText.map((content) => delta({ content, reasoning_content: content })),
	anyText.map((reasoning_content) => delta({ reasoning_content })),
	anyText.map((refusal) => delta({ refusal })),
	anyText.map((text) =>
		delta({
			tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: text } }],
		}),
	),
	fc.constant(": keep-alive\n\n"),
);

describe.each(WRITERS)("a stream written for %s", (_, model, sent, dialect) => {
	const written = (events: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> => {
		const rendered = write(model, { ...sent, stream: true }, streamAnswer(events), dialect);
		if (rendered.kind !== "events") throw new Error(`${rendered.kind} instead of events`);
		return rendered.events;
	};
	const text = (events: ReadableStream<Uint8Array>): Promise<string> => new Response(written(events)).text();

	it("is the same for any split of the engine's bytes", async () => {
		const grown = delta({ content: "é" }, { usage: { ...USAGE, completion_tokens: 1, total_tokens: 11 } });
		const source = hubText(...HUB).replace(finish(), grown + finish());
		const complete = await text(split(source));
		expect(complete.endsWith(DONE)).toBe(true);
		await fc.assert(
			fc.asyncProperty(anyCuts, async (cuts) => {
				expect(await text(split(source, cuts))).toBe(complete);
			}),
			{ numRuns: 60 },
		);
	});

	it("is the same whether the events of an engine are copied or parsed", async () => {
		await fc.assert(
			fc.asyncProperty(fc.array(anyEvent, { maxLength: 20 }), anyCuts, async (events, cuts) => {
				const source = [
					delta({ role: "assistant", content: "" }),
					...events,
					finish(),
					usageChunk(),
					DONE,
				].join("");
				const call = callOf(() => eventStream(""));
				const stream = { call, source: split(source, cuts), deadline: startDeadline(call) };
				const { events: copied, progress } = await relayChunks(stream, { choices: 1 });
				expect(await text(copied)).toBe(await text(split(source)));

				const parsed = new StreamProgress();
				for (const event of events.filter((each) => each.startsWith("data:")))
					for (const choice of JSON.parse(event.slice("data:".length)).choices) parsed.addDelta(choice.delta);
				expect(progress.outputTokens).toBe(parsed.outputTokens);
			}),
			{ numRuns: 60 },
		);
	});

	it("is the same with additional white space and nulls", async () => {
		const complete = await text(split(hubText(...HUB)));
		const spaced = hubText(...HUB)
			.replace(DONE, "data: [DONE] \n\n")
			.replaceAll('"index":0,"delta"', '"index":null,"delta"');
		expect(await text(split(spaced))).toBe(complete);
	});

	it("ends with one error event after all text if the engine fails", async () => {
		const before = delta({ content: "Hi" });
		const out = await text(failing(before, new AiError("modelTimeout")));
		expect(out).toContain("Hi");
		expect(
			out.endsWith(
				'data: {"error":{"message":"AiError: AiError: Request timeout","type":"server_error","code":3046}}\n\n',
			),
		).toBe(true);
		expect(out.match(/"error"/g)).toHaveLength(1);
		expect(out).not.toContain("[DONE]");
	});

	it("does not disclose the message of an unknown failure", async () => {
		const out = await text(failing("", new Error("connect ECONNREFUSED sk-secret")));
		expect(out).toBe(
			'data: {"error":{"message":"AiError: AiError: Model execution failed","type":"server_error","code":5001}}\n\n',
		);
	});

	it("fails if it ends without [DONE]", async () => {
		const out = await text(split(delta({ content: "Hi" }) + finish() + usageChunk()));
		expect(out).toContain("The engine's stream ended before its reply did");
		expect(out).not.toContain("[DONE]");
	});

	it("fails if its first chunk is malformed", async () => {
		const out = await text(split(`data: oops\n\n${DONE}`));
		expect(out).toContain('"code":5001');
		expect(out).not.toContain("[DONE]");
	});

	it("cancels the engine's stream when the caller disconnects", async () => {
		let cancelled: unknown;
		const bytes = new TextEncoder().encode(delta({ content: "Hi" }));
		const events = new ReadableStream<Uint8Array>({
			pull: (controller) => controller.enqueue(bytes),
			cancel: (reason) => {
				cancelled = reason;
			},
		});
		const reader = written(events).getReader();
		await reader.read();
		await reader.cancel("disconnected");
		expect(cancelled).toBe("disconnected");
	});

	it("sends each event before the next arrives", async () => {
		let push: (text: string) => void = () => {};
		const events = new ReadableStream<Uint8Array>({
			start(controller) {
				push = (piece) => controller.enqueue(new TextEncoder().encode(piece));
			},
		});
		const reader = written(events).getReader();
		push(delta({ content: "Hi" }));
		expect(new TextDecoder().decode((await reader.read()).value)).toContain("Hi");
		await reader.cancel();
	});
});
