import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import blockedSse from "../../fixtures/gemini/blocked.sse?raw";
import chatJson from "../../fixtures/gemini/chat.json?raw";
import chatSse from "../../fixtures/gemini/chat.sse?raw";
import twoSse from "../../fixtures/gemini/chat-two.sse?raw";
import safetySse from "../../fixtures/gemini/safety.sse?raw";
import brokenSse from "../../fixtures/gemini/stream-error.sse?raw";
import thoughtsSse from "../../fixtures/gemini/thoughts.sse?raw";
import toolsSse from "../../fixtures/gemini/tools.sse?raw";
import { sealed } from "../plain-seals.ts";
import { drain, eventStream, failureOf, inPieces, json, tap } from "../upstream.ts";
import { ask, chunksIn, GOOGLE, HELLO } from "./ask.ts";

const asking = (body: ReadableStream<Uint8Array> | string, n?: number) =>
	ask("text-generation", { ...HELLO, stream: true, ...(n && { n }) }, () => eventStream(body));

async function streamOf(body: ReadableStream<Uint8Array> | string, n?: number) {
	const answer = await asking(body, n).answer;
	if (answer.kind !== "stream") throw new Error("a value");
	return answer;
}

async function chunksOf(body: string, n?: number) {
	const { text, error } = await drain((await streamOf(body, n)).events);
	expect(error).toBeUndefined();
	return chunksIn(text);
}

const counted = (completion_tokens: number, prompt_tokens = 12, thoughts = 31) => ({
	prompt_tokens,
	completion_tokens,
	total_tokens: prompt_tokens + completion_tokens,
	completion_tokens_details: { reasoning_tokens: thoughts },
});

describe("a stream", () => {
	it("is converted to chunks with the counts so far", async () => {
		const { call, answer } = asking(chatSse);
		await answer;
		expect(call.requests[0]?.url).toBe(
			`${GOOGLE}/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse`,
		);
		const heading = {
			id: "chat-response-2",
			object: "chat.completion.chunk",
			created: expect.any(Number),
			model: "gemini-2.5-flash",
		};
		expect(await chunksOf(chatSse)).toEqual([
			{
				...heading,
				choices: [{ index: 0, delta: { role: "assistant", content: "Your name" }, finish_reason: null }],
				usage: counted(33),
			},
			{
				...heading,
				choices: [{ index: 0, delta: { content: " is Alice" }, finish_reason: null }],
				usage: counted(35),
			},
			{
				...heading,
				choices: [{ index: 0, delta: { content: "." }, finish_reason: "stop" }],
				usage: counted(36),
			},
			{ ...heading, choices: [], usage: counted(36) },
		]);
	});

	it("does not depend on the network's pieces", async () => {
		const bytes = new TextEncoder().encode(thoughtsSse);
		const { text: whole } = await drain((await streamOf(thoughtsSse)).events);
		const shape = (text: string) => chunksIn(text).map(({ created: _, ...chunk }) => chunk);
		await fc.assert(
			fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 8 }), async (cuts) => {
				const { text } = await drain((await streamOf(inPieces(bytes, cuts))).events);
				expect(shape(text)).toEqual(shape(whole));
			}),
			{ numRuns: 30 },
		);
	});

	it("separates reasoning and the signature of the text", async () => {
		const chunks = await chunksOf(thoughtsSse);
		expect(chunks.flatMap(({ choices }) => choices)).toEqual([
			{
				index: 0,
				delta: { role: "assistant", reasoning_content: "**Recalling**\n\n" },
				finish_reason: null,
			},
			{ index: 0, delta: { reasoning_content: "The user said so." }, finish_reason: null },
			{ index: 0, delta: { content: "Alice." }, finish_reason: null },
			{
				index: 0,
				delta: {
					extra_content: {
						google: {
							thought_signature: sealed({ place: "text", signature: "CtoBAb4+9vtzaWduYXR1cmUtb25l" }),
						},
					},
				},
				finish_reason: "stop",
			},
		]);
		expect(chunks.at(-1)?.usage).toEqual(counted(42, 12, 40));
	});

	it("has complete tool calls in order", async () => {
		const choices = (await chunksOf(toolsSse)).flatMap((chunk) => chunk.choices);
		expect(choices).toEqual([
			{ index: 0, delta: { role: "assistant", content: "I will look." }, finish_reason: null },
			{
				index: 0,
				delta: {
					tool_calls: [
						{
							index: 0,
							id: "k7m2x9qd",
							type: "function",
							function: { name: "get_weather", arguments: '{"city":"Paris"}' },
							extra_content: {
								google: {
									thought_signature: sealed({ place: 0, signature: "CtoBAb4+9vtzaWduYXR1cmUtb25l" }),
								},
							},
						},
					],
				},
				finish_reason: null,
			},
			{
				index: 0,
				delta: {
					tool_calls: [
						{
							index: 1,
							id: expect.stringMatching(/^call_/),
							type: "function",
							function: { name: "get_weather", arguments: '{"city":"London"}' },
						},
					],
				},
				finish_reason: null,
			},
			{ index: 0, delta: {}, finish_reason: "tool_calls" },
		]);
	});

	it("numbers calls across events", async () => {
		const event = (names: string[], fields = {}) => {
			const parts = names.map((name) => ({ functionCall: { id: name, name, args: null } }));
			return `data: ${JSON.stringify({ candidates: [{ content: { parts }, ...fields }] })}\n\n`;
		};
		const chunks = await chunksOf(event(["a", "b"]) + event(["c"]) + event([], { finishReason: "STOP" }));
		const choices = chunks.flatMap((chunk) => chunk.choices);
		expect(choices.flatMap(({ delta }) => delta.tool_calls ?? [])).toEqual(
			["a", "b", "c"].map((name, index) => ({
				index,
				id: name,
				type: "function",
				function: { name, arguments: "{}" },
			})),
		);
		expect(choices.map(({ delta, finish_reason }) => [delta.role, finish_reason])).toEqual([
			["assistant", null],
			[undefined, null],
			[undefined, "tool_calls"],
		]);
		expect(chunks.some(({ usage }) => usage)).toBe(false);
	});

	it("numbers answers without an index, finishes each once, and drops empty events", async () => {
		const event = (...candidates: object[]) => `data: ${JSON.stringify({ candidates })}\n\n`;
		const text = (content: string) => ({ content: { parts: [{ text: content }] } });
		const body =
			`data: {"candidates":null,"responseId":"r"}\n\n` +
			event(text("a"), text("b")) +
			event({}, { content: null }) +
			event({ finishReason: "STOP" }, { finishReason: "MAX_TOKENS" }) +
			event({ finishReason: "SAFETY" });
		const chunks = await chunksOf(body, 2);
		expect(chunks.map(({ choices }) => choices)).toEqual([
			[
				{ index: 0, delta: { role: "assistant", content: "a" }, finish_reason: null },
				{ index: 1, delta: { role: "assistant", content: "b" }, finish_reason: null },
			],
			[
				{ index: 0, delta: {}, finish_reason: "stop" },
				{ index: 1, delta: {}, finish_reason: "length" },
			],
		]);
		expect(chunks.map(({ id, model }) => [id, model])).toEqual(Array(2).fill(["r", "gemini-2.5-flash"]));
	});

	it("keeps the counts that a later event omits", async () => {
		const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2 };
		const candidate = (text: string, fields = {}) => ({ content: { parts: [{ text }] }, ...fields });
		const body =
			`data: ${JSON.stringify({ candidates: [candidate("a")], usageMetadata })}\n\n` +
			`data: ${JSON.stringify({ candidates: [candidate("b", { finishReason: "STOP" })] })}\n\n`;
		const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
		expect((await chunksOf(body)).map((chunk) => chunk.usage)).toEqual([usage, usage, usage]);
	});

	it("separates several answers", async () => {
		const choices = (await chunksOf(twoSse, 2)).flatMap((chunk) => chunk.choices);
		const textOf = (wanted: number) =>
			choices.flatMap(({ index, delta }) => (index === wanted ? [delta.content] : [])).join("");
		expect([textOf(0), textOf(1)]).toEqual(["Alice.", "It is Alice."]);
		expect(choices.filter(({ delta }) => delta.role).map(({ index }) => index)).toEqual([0, 1]);
		expect(choices.filter(({ finish_reason }) => finish_reason).map(({ index }) => index)).toEqual([0, 1]);
	});

	it("has the finish reason of a stopped answer", async () => {
		const choices = (await chunksOf(safetySse)).flatMap((chunk) => chunk.choices);
		expect(choices.map(({ finish_reason }) => finish_reason)).toEqual([null, "content_filter"]);
	});

	it("is interrupted if it ends without a finish reason", async () => {
		const upTo = chatSse.indexOf('{"text":"."}');
		const cut = chatSse.slice(0, chatSse.lastIndexOf("data:", upTo));
		const { text, error } = await drain((await streamOf(cut)).events);
		expect(text).toContain(" is Alice");
		expect(text).not.toContain("[DONE]");
		expect(error).toMatchObject({ key: "executionFailed", retryable: true });
	});

	it("is interrupted if one of two answers has no finish reason", async () => {
		const { error } = await drain((await streamOf(chatSse, 2)).events);
		expect(error).toBeInstanceOf(AiError);
	});

	it("fails at its end if nothing in it could be read", async () => {
		const event = (candidate: object) => `data: ${JSON.stringify({ candidates: [candidate] })}\n\n`;
		const sent = event({ content: { parts: [{ txt: "hel" }] } }) + event({ finishReason: "STOP" });
		expect(await failureOf(asking(sent).answer)).toMatchObject({ key: "executionFailed" });
	});

	it("ends with the upstream's error", async () => {
		const { text, error } = await drain((await streamOf(brokenSse)).events);
		expect(text).toContain("Your name");
		expect(error).toMatchObject({ key: "outOfCapacity", retryable: true });
	});

	it("fails before the first chunk for a blocked prompt", async () => {
		expect(await failureOf(asking(blockedSse).answer)).toMatchObject({
			key: "refusedByModel",
			retryable: false,
		});
	});

	it("returns a complete reply as a value", async () => {
		const { answer } = ask("text-generation", { ...HELLO, stream: true }, () => json(chatJson));
		expect(await answer).toMatchObject({ kind: "value", output: { id: "chat-response-1" } });
	});

	it("has the usage when the caller disconnects", async () => {
		const source = tap();
		const answering = streamOf(source.body);
		source.push(chatSse.slice(0, chatSse.indexOf("data:", 10)));
		const { events, progress } = await answering;
		const reader = events.getReader();
		await reader.read();
		await reader.cancel();
		expect(source.cancelled).toBe(true);
		expect(progress.usage).toEqual(counted(33));
	});
});
