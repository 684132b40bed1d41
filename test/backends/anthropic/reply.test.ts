import { describe, expect, it, vi } from "vitest";
import { stopReasonOf } from "../../../src/backends/anthropic/reply.ts";
import type { ChatInput } from "../../../src/tasks/text-generation/types.ts";
import context from "../../fixtures/anthropic/error-400-context.json?raw";
import unauthorized from "../../fixtures/anthropic/error-401.json?raw";
import unknown from "../../fixtures/anthropic/error-404.json?raw";
import tooLarge from "../../fixtures/anthropic/error-413.json?raw";
import limited from "../../fixtures/anthropic/error-429.json?raw";
import broken from "../../fixtures/anthropic/error-500.json?raw";
import overloaded from "../../fixtures/anthropic/error-529.json?raw";
import message from "../../fixtures/anthropic/message.json?raw";
import refusal from "../../fixtures/anthropic/message-refusal.json?raw";
import thinking from "../../fixtures/anthropic/message-thinking.json?raw";
import tools from "../../fixtures/anthropic/message-tools.json?raw";
import { outputOf } from "../ask.ts";
import { sealed } from "../plain-seals.ts";
import { failureOf, json, neverAnswers } from "../upstream.ts";
import { ask } from "./ask.ts";

const read = (reply: string | object, input: Partial<ChatInput> = {}) =>
	outputOf(ask(input, () => json(reply)));

describe("a message as a completion", () => {
	it("has the text, the finish reason and the usage", async () => {
		expect(await read(message)).toEqual({
			id: "msg_01TestMessageEeeeeeeeeee",
			object: "chat.completion",
			created: expect.any(Number),
			model: "claude-sonnet-4-5-20250929",
			choices: [
				{ index: 0, message: { role: "assistant", content: "Your name is Alice." }, finish_reason: "stop" },
			],
			usage: {
				prompt_tokens: 126,
				completion_tokens: 9,
				total_tokens: 135,
				prompt_tokens_details: { cached_tokens: 100, cache_creation_tokens: 5 },
			},
		});
	});

	it.each([
		["a text", "Hello", "Hello", "end_turn", "stop"],
		["nothing", null, "", "max_tokens", "length"],
	])("reads a content that is %s", async (_, content, text, stop_reason, finish_reason) => {
		const reply = JSON.stringify({ type: "message", role: "assistant", content, stop_reason });
		expect(await read(reply)).toMatchObject({ choices: [{ message: { content: text }, finish_reason }] });
	});

	it.each<[string, object[], object]>([
		["a call alone", [{ type: "tool_use" }], { content: null, calls: 1, thoughts: undefined }],
		[
			"an empty text and a call",
			[{ type: "text", text: "" }, { type: "tool_use" }],
			{ content: null, calls: 1, thoughts: undefined },
		],
		[
			"texts in other blocks",
			[
				{ type: "x", text: "no", thinking: "no" },
				{ type: "thinking", text: "no", thinking: "Hm" },
				{ type: "thinking", thinking: "." },
				{ type: "text", text: "a", thinking: "no" },
				{ type: "text", text: "b" },
			],
			{ content: "ab", calls: undefined, thoughts: "Hm." },
		],
		["no block", [], { content: "", calls: undefined, thoughts: undefined }],
	])("with %s has its content", async (_, content, expected) => {
		const { choices } = await read({ type: "message", content, stop_reason: "end_turn" });
		const { content: text, tool_calls, reasoning_content } = choices[0]?.message ?? {};
		expect({ content: text, calls: tool_calls?.length, thoughts: reasoning_content }).toEqual(expected);
		if (tool_calls)
			expect(tool_calls).toEqual([
				{ id: "toolu_uuid-1", type: "function", function: { name: "", arguments: "{}" } },
			]);
	});

	it("has tool calls with arguments as JSON text", async () => {
		expect((await read(tools)).choices[0]).toEqual({
			index: 0,
			message: {
				role: "assistant",
				content: "I look it up:",
				tool_calls: [
					{
						id: "toolu_01TestWeather",
						type: "function",
						function: { name: "get_weather", arguments: '{"city":"Paris"}' },
					},
					{ id: "toolu_01TestClock", type: "function", function: { name: "get_time", arguments: "{}" } },
				],
			},
			finish_reason: "tool_calls",
		});
	});

	it("separates reasoning, and counts its tokens if the API does", async () => {
		const { choices, usage } = await read(thinking);
		expect(choices).toEqual([
			{
				index: 0,
				message: {
					role: "assistant",
					content: "It is 42.",
					reasoning_content: "40 + 2 is 42",
					thinking_blocks: [
						{
							type: "thinking",
							thinking: "40 + 2 is 42",
							signature: sealed({
								block: { type: "thinking", thinking: "40 + 2 is 42", signature: "EqQBTestSignature..." },
							}),
						},
						{
							type: "redacted_thinking",
							data: sealed({ block: { type: "redacted_thinking", data: "EmwKTestData..." } }),
						},
					],
				},
				finish_reason: "length",
			},
		]);
		expect(usage?.completion_tokens_details).toEqual({ reasoning_tokens: 25 });
	});

	it("finishes with content_filter after a refusal", async () => {
		expect((await read(refusal)).choices).toEqual([
			{ index: 0, message: { role: "assistant", content: "" }, finish_reason: "content_filter" },
		]);
	});

	it.each([
		["end_turn", "stop"],
		["stop_sequence", "stop"],
		["pause_turn", "stop"],
		["max_tokens", "length"],
		["model_context_window_exceeded", "length"],
		["something_new", "stop"],
		[null, "stop"],
	])("maps the stop reason %s to %s", async (stop_reason, finish_reason) => {
		const { choices } = await read({ ...JSON.parse(message), stop_reason });
		expect(choices[0]?.finish_reason).toBe(finish_reason);
	});

	it("has the stop sequence in stop_reason", async () => {
		const met = { stop_reason: "stop_sequence", stop_sequence: "END" };
		const { choices } = await read({ ...JSON.parse(message), ...met });
		expect(choices[0]).toMatchObject({ finish_reason: "stop", stop_reason: "END" });
	});

	it("accepts thinking blocks without their texts", async () => {
		const content = [{ type: "thinking", signature: "s" }, { type: "redacted_thinking" }];
		const { choices } = await read({ type: "message", content });
		expect(choices[0]?.message).toEqual({
			role: "assistant",
			content: "",
			thinking_blocks: [
				{
					type: "thinking",
					thinking: "",
					signature: sealed({ block: { type: "thinking", signature: "s" } }),
				},
			],
		});
	});

	it.each([
		[{ input_tokens: 3 }, { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 }],
		[
			{ input_tokens: 3, output_tokens: "many", cache_read_input_tokens: -1 },
			{ prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 },
		],
		[{ output_tokens: 4 }, { prompt_tokens: 0, completion_tokens: 4, total_tokens: 4 }],
	])("counts %j", async (usage, expected) => {
		const counted = await read({ type: "message", content: [], stop_reason: "end_turn", usage });
		expect(counted.usage).toEqual({
			...expected,
			prompt_tokens_details: { cached_tokens: 0, cache_creation_tokens: 0 },
		});
	});

	it("has no usage without counts", async () => {
		const usage = { cache_read_input_tokens: 5, input_tokens: null };
		expect(await read({ type: "message", content: [], stop_reason: "end_turn", usage })).not.toHaveProperty(
			"usage",
		);
	});

	it("accepts a message with content only", async () => {
		expect(await read({ type: "message", content: [{ type: "text", text: "hi" }] })).toEqual({
			id: "chatcmpl-uuid-1",
			object: "chat.completion",
			created: expect.any(Number),
			model: "claude-sonnet-4-5-20250929",
			choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
		});
	});

	it("has the arguments of the answer tool as text", async () => {
		const answering = (schema: object, input: object) =>
			read(
				{
					...JSON.parse(message),
					content: [{ type: "tool_use", id: "t", name: "x", input }],
					stop_reason: "tool_use",
				},
				{ response_format: { type: "json_schema", json_schema: { name: "x", schema } } },
			);
		const { choices } = await answering({ type: "object" }, { a: 1 });
		expect(choices).toEqual([
			{ index: 0, message: { role: "assistant", content: '{"a":1}' }, finish_reason: "stop" },
		]);
		const list = await answering({ type: "array" }, { answer: [1, 2] });
		expect(list.choices[0]?.message.content).toBe("[1,2]");
		const missing = await answering({ type: "array" }, {});
		expect(missing.choices[0]?.message.content).toBe("null");
		const empty = await answering({ type: "object" }, null as unknown as object);
		expect(empty.choices[0]?.message.content).toBe("{}");
	});
});

describe("an error reply", () => {
	it.each([
		[
			400,
			context,
			{
				key: "contextWindowExceeded",
				retryable: false,
				description: "prompt is too long: 210413 tokens > 200000 maximum",
			},
		],
		[401, unauthorized, { key: "upstreamUnavailable", retryable: true }],
		[404, unknown, { key: "noSuchModel", retryable: true }],
		[413, tooLarge, { key: "requestTooLarge", retryable: false }],
		[429, limited, { key: "outOfCapacity", retryable: true, retryAfter: 7 }],
		[500, broken, { key: "executionFailed", retryable: true }],
		[529, overloaded, { key: "outOfCapacity", retryable: true }],
	])("%s", async (status, body, failure) => {
		for (const stream of [false, true]) {
			const asking = ask({ stream }, () => json(body, status, { "retry-after": "7" }));
			expect(await failureOf(asking.answer)).toMatchObject({
				...failure,
				upstream: { backend: "lab", status },
			});
		}
	});

	it("contains no secrets", async () => {
		const leaked = {
			type: "error",
			error: { type: "invalid_request_error", message: "key sk-the-secret-of-the-target" },
		};
		const error = await failureOf(ask({}, () => json(leaked, 400)).answer);
		expect(error).toMatchObject({ description: "key [redacted]" });
	});

	it("aborts the upstream's fetch when the caller disconnects", async () => {
		const { call, answer } = ask({}, neverAnswers);
		const failure = failureOf(answer);
		await vi.waitFor(() => expect(call.requests).toHaveLength(1));
		call.disconnect();
		expect(await failure).toMatchObject({ key: "aborted" });
		expect(call.requests[0]?.signal.aborted).toBe(true);
	});
});

describe("a stop reason", () => {
	it.each<[string | null, boolean, string | null]>([
		["end_turn", true, "tool_use"],
		[null, true, "tool_use"],
		["max_tokens", true, "max_tokens"],
		["end_turn", false, "end_turn"],
		[null, false, null],
	])("%s, with calls: %s, is %s", (sent, hasCalls, reason) => {
		expect(stopReasonOf(sent, hasCalls)).toBe(reason);
	});
});
