import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ChatChunk, ChatInput } from "../../../src/tasks/text-generation/types.ts";
import message from "../../fixtures/anthropic/message.json?raw";
import overloaded from "../../fixtures/anthropic/overloaded.sse?raw";
import text from "../../fixtures/anthropic/text.sse?raw";
import thinking from "../../fixtures/anthropic/thinking.sse?raw";
import tools from "../../fixtures/anthropic/tools.sse?raw";
import { eventsOf, outputOf } from "../ask.ts";
import { sealed } from "../plain-seals.ts";
import { drain, eventStream, failureOf, json, tap } from "../upstream.ts";
import { ask } from "./ask.ts";

const stream = (body: ReadableStream<Uint8Array> | string, input: Partial<ChatInput> = {}) =>
	ask({ stream: true, ...input }, () => eventStream(body));

async function chunksOf(sse: string, input?: Partial<ChatInput>): Promise<ChatChunk[]> {
	const { text: sent, error } = await drain(await eventsOf(stream(sse, input)));
	expect(error).toBeUndefined();
	const events = sent.split("\n\n").filter((one) => one !== ": ping");
	expect(events.slice(-2)).toEqual(["data: [DONE]", ""]);
	return events.slice(0, -2).map((event) => JSON.parse(event.replace("data: ", "")));
}

const deltasOf = (chunks: ChatChunk[]) => chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
const event = (type: string, fields: object = {}) =>
	`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const START = event("message_start", {
	message: { id: "msg_1", usage: { input_tokens: 3, output_tokens: 1 } },
});
const STOP = (stop_reason: string) =>
	event("message_delta", { delta: { stop_reason }, usage: { output_tokens: 5 } }) + event("message_stop");
const use = (index: number, input: object = {}) =>
	event("content_block_start", { index, content_block: { type: "tool_use", id: "t1", name: "x", input } });
const piece = (index: number, partial_json: string) =>
	event("content_block_delta", { index, delta: { type: "input_json_delta", partial_json } });
const close = (index: number) => event("content_block_stop", { index });

describe("a stream", () => {
	it("has the role, the text, one finish reason and the usage", async () => {
		const base = {
			id: "msg_01TestTextAaaaaaaaaaaaaa",
			object: "chat.completion.chunk",
			created: expect.any(Number),
			model: "claude-sonnet-4-5-20250929",
		};
		const choice = (delta: object, finish_reason: string | null = null) => [
			{ index: 0, delta, finish_reason },
		];
		expect(await chunksOf(text)).toEqual([
			{ ...base, choices: choice({ role: "assistant", content: "Your name" }) },
			{ ...base, choices: choice({ content: " is Alice." }) },
			{ ...base, choices: choice({}, "stop") },
			{
				...base,
				choices: [],
				usage: {
					prompt_tokens: 126,
					completion_tokens: 9,
					total_tokens: 135,
					prompt_tokens_details: { cached_tokens: 100, cache_creation_tokens: 5 },
				},
			},
		]);
	});

	it("numbers tool calls from 0, each with its arguments", async () => {
		const chunks = await chunksOf(tools);
		expect(deltasOf(chunks)).toEqual([
			{ role: "assistant", content: "I" },
			{ content: " look it up:" },
			{
				tool_calls: [
					{
						index: 0,
						id: "toolu_01TestWeather",
						type: "function",
						function: { name: "get_weather", arguments: "" },
					},
				],
			},
			{ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] },
			{ tool_calls: [{ index: 0, function: { arguments: ' "Paris"}' } }] },
			{
				tool_calls: [
					{
						index: 1,
						id: "toolu_01TestClock",
						type: "function",
						function: { name: "get_time", arguments: "" },
					},
				],
			},
			{ tool_calls: [{ index: 1, function: { arguments: "{}" } }] },
			{},
		]);
		expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("tool_calls");
		expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 372, completion_tokens: 89 });
	});

	it("separates reasoning, and has no usage without counts", async () => {
		const chunks = await chunksOf(thinking);
		expect(deltasOf(chunks)).toEqual([
			{ role: "assistant", content: "", reasoning_content: "I have to add:\n\n1. 40 + 2" },
			{ reasoning_content: "\n2. That is 42" },
			{
				thinking_blocks: [
					{
						type: "thinking",
						thinking: "I have to add:\n\n1. 40 + 2\n2. That is 42",
						signature: sealed({
							block: {
								type: "thinking",
								thinking: "I have to add:\n\n1. 40 + 2\n2. That is 42",
								signature: "EqQBTestSignature...",
							},
						}),
					},
				],
			},
			{ content: "40 + 2 = 42" },
			{},
		]);
		expect(chunks.map(({ choices }) => choices.length)).toEqual([1, 1, 1, 1, 1]);
		expect(chunks.some(({ usage }) => usage)).toBe(false);
	});

	it("sends arguments that arrive complete", async () => {
		const chunks = await chunksOf(START + use(0, { a: 1 }) + close(0) + STOP("tool_use"));
		expect(deltasOf(chunks).slice(1)).toEqual([
			{ tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] },
			{},
		]);
	});

	it("sends redacted thinking blocks, and no unsigned ones", async () => {
		const block = (index: number, content_block: object) =>
			event("content_block_start", { index, content_block }) + close(index);
		const sse =
			START +
			block(0, { type: "redacted_thinking", data: "x" }) +
			block(1, { type: "thinking", thinking: "", signature: "" }) +
			STOP("end_turn");
		expect(deltasOf(await chunksOf(sse))).toEqual([
			{
				role: "assistant",
				content: "",
				thinking_blocks: [
					{ type: "redacted_thinking", data: sealed({ block: { type: "redacted_thinking", data: "x" } }) },
				],
			},
			{},
		]);
	});

	it("reads blocks and deltas without their optional fields", async () => {
		const bare = (type: string, fields: object) => event(`content_block_${type}`, fields);
		const delta = (type: string, fields: object = {}) => bare("delta", { delta: { type, ...fields } });
		const sse =
			event("message_start") +
			bare("start", { content_block: { type: "text" } }) +
			delta("text_delta") +
			bare("stop", {}) +
			bare("start", { content_block: { type: "thinking", thinking: "Hm" } }) +
			delta("thinking_delta") +
			delta("thinking_delta", { thinking: "." }) +
			delta("signature_delta") +
			delta("signature_delta", { signature: "si" }) +
			delta("signature_delta", { signature: "gn" }) +
			bare("stop", {}) +
			bare("start", { content_block: { type: "tool_use" } }) +
			delta("input_json_delta") +
			delta("input_json_delta", { partial_json: '{"a":1}' }) +
			bare("stop", {}) +
			bare("start", { content_block: { type: "tool_use" } }) +
			bare("stop", {}) +
			event("message_delta", { delta: { stop_reason: "tool_use" } }) +
			event("message_stop");
		const chunks = await chunksOf(sse);
		const start = (id: string) => ({ id, type: "function", function: { name: "", arguments: "" } });
		const block = { type: "thinking", thinking: "Hm.", signature: "sign" };
		const thoughts = { ...block, signature: sealed({ block }) };
		const signed = { extra_content: { google: { thought_signature: sealed({ block }) } } };
		expect(deltasOf(chunks)).toEqual([
			{ role: "assistant", content: "", reasoning_content: "Hm" },
			{ reasoning_content: "." },
			{ thinking_blocks: [thoughts] },
			{ tool_calls: [{ index: 0, ...start("toolu_uuid-2"), ...signed }] },
			{ tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] },
			{ tool_calls: [{ index: 1, ...start("toolu_uuid-3") }] },
			{ tool_calls: [{ index: 1, function: { arguments: "{}" } }] },
			{},
		]);
		expect(new Set(chunks.map(({ id, model }) => [id, model].join()))).toEqual(
			new Set(["chatcmpl-uuid-1,claude-sonnet-4-5-20250929"]),
		);
		expect(chunks.some(({ usage }) => usage)).toBe(false);
	});

	it("reads thoughts in pieces, also without the start of their block", async () => {
		const start = event("content_block_start", { index: 0, content_block: { type: "thinking" } });
		const delta = (type: string, fields: object) =>
			event("content_block_delta", { index: 0, delta: { type, ...fields } });
		const pieces =
			delta("thinking_delta", { thinking: "Hm." }) + delta("signature_delta", { signature: "s" });
		const end = event("content_block_stop", { index: 0 }) + STOP("end_turn");
		const thoughts = { role: "assistant", content: "", reasoning_content: "Hm." };
		for (const begun of [start, ""])
			expect(deltasOf(await chunksOf(START + begun + pieces + end))).toEqual([
				thoughts,
				{
					thinking_blocks: [
						{
							type: "thinking",
							thinking: "Hm.",
							signature: sealed({ block: { type: "thinking", thinking: "Hm.", signature: "s" } }),
						},
					],
				},
				{},
			]);
	});

	it("has the answer of a tool whose arguments arrive complete, or in pieces", async () => {
		const input: Partial<ChatInput> = {
			response_format: { type: "json_schema", json_schema: { name: "x", schema: { type: "array" } } },
		};
		const contentOf = async (sse: string) =>
			deltasOf(await chunksOf(START + sse + close(0) + STOP("tool_use"), input))
				.map(({ content }) => content ?? "")
				.join("");
		expect(await contentOf(use(0, { answer: [1] }))).toBe("[1]");
		expect(await contentOf(use(0) + piece(0, '{"answer":') + piece(0, "[2]}"))).toBe("[2]");
	});

	it("ends with `message_stop`, if the connection stays open", async () => {
		const upstream = tap();
		upstream.push(text);
		const { text: sent } = await drain(await eventsOf(stream(upstream.body)));
		expect(sent.endsWith("data: [DONE]\n\n")).toBe(true);
		expect(upstream.cancelled).toBe(true);
	});

	it("assigns pieces to two open calls", async () => {
		const chunks = await chunksOf(
			START +
				use(1) +
				use(2) +
				piece(2, "[2") +
				piece(1, "[1") +
				piece(2, "]") +
				piece(3, "x") +
				close(2) +
				close(1) +
				close(1) +
				STOP("tool_use"),
		);
		const pieces = chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []));
		expect(pieces.map((call) => [call.index, call.function?.arguments])).toEqual([
			[0, ""],
			[1, ""],
			[1, "[2"],
			[0, "[1"],
			[1, "]"],
		]);
	});

	it("sends arguments once if the block ends twice", async () => {
		const chunks = await chunksOf(START + use(0, { a: 1 }) + close(0) + close(0) + STOP("tool_use"));
		const pieces = chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []));
		expect(pieces.map((call) => call.function?.arguments)).toEqual(["", '{"a":1}']);
	});

	it("has the start time in seconds", async () => {
		vi.useFakeTimers({ now: 4_000_000_000_999, toFake: ["Date"] });
		onTestFinished(() => void vi.useRealTimers());
		expect((await chunksOf(text)).map(({ created }) => created)).toEqual(Array(4).fill(4_000_000_000));
		const reply = await outputOf(ask({}, () => json(message)));
		expect(reply.created).toBe(4_000_000_000);
	});

	it.each([
		[
			"an error event of another type",
			'event: error\ndata: {"type":"x","error":{"type":"overloaded_error"}}\n\n',
		],
		["an error event by its name and type", event("error", { error: { type: "overloaded_error" } })],
	])("fails by %s", async (_, failed) => {
		expect(await failureOf(stream(START + failed).answer)).toMatchObject({ key: "outOfCapacity" });
	});

	it("keeps counts that a later event omits, and counts reasoning tokens", async () => {
		const usage = { output_tokens: 9, output_tokens_details: { thinking_tokens: 4 }, input_tokens: null };
		const ended = event("message_delta", { delta: { stop_reason: "end_turn" }, usage });
		const chunks = await chunksOf(START + ended + event("message_stop"));
		expect(chunks.at(-1)?.usage).toEqual({
			prompt_tokens: 3,
			completion_tokens: 9,
			total_tokens: 12,
			prompt_tokens_details: { cached_tokens: 0, cache_creation_tokens: 0 },
			completion_tokens_details: { reasoning_tokens: 4 },
		});
	});

	it("ignores unknown events", async () => {
		const odd =
			START +
			event("new_event", { delta: { type: "x" } }) +
			event("content_block_start", { index: 0, content_block: { type: "server_tool_use", id: "s" } }) +
			piece(0, "{}") +
			close(0) +
			STOP("end_turn");
		expect(deltasOf(await chunksOf(odd))).toEqual([{ role: "assistant", content: "" }]);
	});

	it("has the stop sequence in stop_reason", async () => {
		const delta = { stop_reason: "stop_sequence", stop_sequence: "END" };
		const later = event("message_delta", { delta: {}, usage: { output_tokens: 5 } });
		const chunks = await chunksOf(START + event("message_delta", { delta }) + later + event("message_stop"));
		expect(chunks[0]?.choices[0]).toMatchObject({ finish_reason: "stop", stop_reason: "END" });
	});

	it("names the answering model, or else the requested one", async () => {
		const modelsOf = async (message: object) => {
			const chunks = await chunksOf(event("message_start", { message }) + STOP("end_turn"));
			return new Set(chunks.map(({ model }) => model));
		};
		expect(await modelsOf({ id: "msg_1", model: "claude-answering" })).toEqual(new Set(["claude-answering"]));
		expect(await modelsOf({ id: "msg_1", model: "" })).toEqual(new Set(["claude-sonnet-4-5-20250929"]));
	});

	it("ends with message_stop, not with the stop reason", async () => {
		const body =
			START +
			event("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } }) +
			event("message_delta", { delta: {}, usage: { output_tokens: 9 } }) +
			event("message_stop");
		const chunks = await chunksOf(body);
		expect(deltasOf(chunks)).toEqual([{ role: "assistant", content: "" }]);
		expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 9 });
	});

	it("may be empty", async () => {
		const chunks = await chunksOf(START + STOP("end_turn"));
		expect(chunks.map(({ choices }) => choices)).toEqual([
			[{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: "stop" }],
			[],
		]);
		expect(chunks[1]?.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 });
	});

	it("is complete with a stop reason, with or without message_stop", async () => {
		const unfinished = text.slice(0, text.indexOf("event: message_stop"));
		expect(await chunksOf(unfinished)).toHaveLength(4);
	});

	it("returns a complete reply as a value", async () => {
		const { choices } = await outputOf(ask({ stream: true }, () => json(message)));
		expect(choices[0]?.message.content).toBe("Your name is Alice.");
	});
});

describe("a stream with an answer tool", () => {
	const formed = (schema: object): Partial<ChatInput> => ({
		response_format: { type: "json_schema", json_schema: { name: "x", schema } },
	});
	const called = START + use(0) + piece(0, '{"answer":') + piece(0, "[1, 2]}") + close(0) + STOP("tool_use");

	it("sends the arguments as text while they arrive", async () => {
		const chunks = await chunksOf(called, formed({ type: "object" }));
		expect(deltasOf(chunks)).toEqual([
			{ role: "assistant", content: '{"answer":' },
			{ content: "[1, 2]}" },
			{},
		]);
		expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
	});

	it("sends one field of the arguments if the schema is not an object", async () => {
		const chunks = await chunksOf(called, formed({ type: "array" }));
		expect(deltasOf(chunks)).toEqual([{ role: "assistant", content: "[1,2]" }, {}]);
	});

	it("sends the text if the tool is not called", async () => {
		const partial =
			START +
			event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "I will not." } }) +
			STOP("refusal");
		expect(deltasOf(await chunksOf(partial, formed({ type: "object" })))).toEqual([
			{ role: "assistant", content: "I will not." },
			{},
		]);
	});
});

describe("a stream that fails", () => {
	it("fails the call if it breaks before the first output", async () => {
		const { call, answer } = stream(overloaded);
		expect(await failureOf(answer)).toMatchObject({ key: "outOfCapacity", retryable: true });
		expect(call.requests[0]?.signal.aborted).toBe(true);
	});

	it("ends with the failure after the first output", async () => {
		const begun = text.slice(0, text.indexOf("event: content_block_stop"));
		const failed = begun + overloaded.slice(overloaded.indexOf("event: error"));
		const { text: sent, error } = await drain(await eventsOf(stream(failed)));
		expect(sent).toContain('" is Alice."');
		expect(sent).not.toContain("[DONE]");
		expect(error).toMatchObject({ key: "outOfCapacity", retryable: true });
	});

	// https://docs.anthropic.com/en/api/errors
	it.each([
		["invalid_request_error", "engineRefused", false],
		["authentication_error", "upstreamUnavailable", true],
		["billing_error", "upstreamUnavailable", true],
		["permission_error", "upstreamUnavailable", true],
		["not_found_error", "noSuchModel", true],
		["request_too_large", "requestTooLarge", false],
		["rate_limit_error", "outOfCapacity", true],
		["timeout_error", "timeout", true],
		["api_error", "executionFailed", true],
		["overloaded_error", "outOfCapacity", true],
	])("maps the error type %s to %s", async (type, key, retryable) => {
		const failed = event("error", { error: { type, message: "m" } });
		expect(await failureOf(stream(START + failed).answer)).toMatchObject({ key, retryable });
		const partial = event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "Hi" } });
		const { text: sent, error } = await drain(await eventsOf(stream(START + partial + failed)));
		expect(sent).toContain('"content":"Hi"');
		expect(error).toMatchObject({ key, retryable });
	});

	it("is interrupted at any cut before the stop reason", async () => {
		const reason = text.indexOf("event: message_delta");
		for (let length = 0; length < reason; length += 7) {
			const outcome = await eventsOf(stream(text.slice(0, length))).then(drain, (error: unknown) => ({
				error,
			}));
			expect(outcome.error).toMatchObject({ description: "The backend 'lab' was cut off mid-answer" });
		}
	});

	it.each(["data: {", "data: []", 'data: {"type":"content_block_delta","delta":{"text":5}}'])(
		"by %s is malformed",
		async (event) => {
			const { answer } = stream(`${START}${event}\n\n`);
			expect(await failureOf(answer)).toMatchObject({
				key: "executionFailed",
				description: "The backend 'lab' answered with something that is not a chat stream",
			});
		},
	);

	it("aborts the upstream when the reader cancels", async () => {
		const upstream = tap();
		upstream.push(text.slice(0, text.indexOf("event: content_block_stop")));
		const asking = stream(upstream.body);
		await (await eventsOf(asking)).cancel();
		expect(asking.call.requests[0]?.signal.aborted).toBe(true);
		expect(upstream.cancelled).toBe(true);
	});
});
