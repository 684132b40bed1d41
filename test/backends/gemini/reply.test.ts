import { describe, expect, it } from "vitest";
import blockedJson from "../../fixtures/gemini/blocked.json?raw";
import chatJson from "../../fixtures/gemini/chat.json?raw";
import contextError from "../../fixtures/gemini/error-context.json?raw";
import deniedError from "../../fixtures/gemini/error-denied.json?raw";
import invalidError from "../../fixtures/gemini/error-invalid.json?raw";
import keyError from "../../fixtures/gemini/error-key.json?raw";
import noModelError from "../../fixtures/gemini/error-no-model.json?raw";
import quotaError from "../../fixtures/gemini/error-quota.json?raw";
import unavailableError from "../../fixtures/gemini/error-unavailable.json?raw";
import logprobsJson from "../../fixtures/gemini/logprobs.json?raw";
import malformedCall from "../../fixtures/gemini/malformed-call.json?raw";
import safetyJson from "../../fixtures/gemini/safety.json?raw";
import thoughtsJson from "../../fixtures/gemini/thoughts.json?raw";
import toolsJson from "../../fixtures/gemini/tools.json?raw";
import { outputOf } from "../ask.ts";
import { sealed } from "../plain-seals.ts";
import { failureOf, json } from "../upstream.ts";
import { ask, HELLO, KEY } from "./ask.ts";

const answerOf = (body: unknown) => outputOf(ask("text-generation", HELLO, () => json(body)));
const failing = (body: unknown, status = 200) =>
	failureOf(ask("text-generation", HELLO, () => json(body, status)).answer);

describe("a reply", () => {
	it("is a chat completion with reasoning counted as output", async () => {
		expect(await answerOf(chatJson)).toEqual({
			id: "chat-response-1",
			object: "chat.completion",
			created: expect.any(Number),
			model: "gemini-2.5-flash",
			choices: [
				{
					index: 0,
					message: { role: "assistant", content: "Your name is Alice." },
					logprobs: null,
					finish_reason: "stop",
				},
			],
			usage: {
				prompt_tokens: 12,
				completion_tokens: 36,
				total_tokens: 48,
				prompt_tokens_details: { cached_tokens: 4 },
				completion_tokens_details: { reasoning_tokens: 31 },
			},
		});
	});

	it("separates reasoning", async () => {
		const { choices, usage } = await answerOf(thoughtsJson);
		expect(choices[0]?.message).toEqual({
			role: "assistant",
			content: "Alice.",
			reasoning_content: "**Recalling**\n\nThe user said so.",
			extra_content: {
				google: { thought_signature: sealed({ place: "text", signature: "CtoBAb4+9vtzaWduYXR1cmUtb25l" }) },
			},
		});
		expect(usage?.completion_tokens).toBe(42);
	});

	it("has tool calls with ids and signatures", async () => {
		const { choices } = await answerOf(toolsJson);
		expect(choices).toEqual([
			{
				index: 0,
				message: {
					role: "assistant",
					content: null,
					tool_calls: [
						{
							id: "k7m2x9qd",
							type: "function",
							function: { name: "get_weather", arguments: '{"city":"Paris"}' },
							extra_content: {
								google: {
									thought_signature: sealed({ place: 0, signature: "CtoBAb4+9vtzaWduYXR1cmUtb25l" }),
								},
							},
						},
						{
							id: "call_uuid-1",
							type: "function",
							function: { name: "get_weather", arguments: '{"city":"London"}' },
						},
					],
				},
				logprobs: null,
				finish_reason: "tool_calls",
			},
		]);
	});

	it.each([
		["one call", [{ functionCall: { name: "look", args: {} } }], null],
		["no part", [], ""],
		["an empty text", [{ text: "" }], ""],
	])("has no text with %s", async (_, parts, content) => {
		const { choices } = await answerOf({ candidates: [{ content: { parts }, finishReason: "STOP" }] });
		expect(choices[0]?.message.content).toBe(content);
	});

	it.each([
		[{ promptTokenCount: 5 }, { prompt_tokens: 5, completion_tokens: 0, total_tokens: 5 }],
		[
			{
				promptTokenCount: 5,
				toolUsePromptTokenCount: 2,
				candidatesTokenCount: 3,
				thoughtsTokenCount: 4,
				cachedContentTokenCount: 0,
			},
			{
				prompt_tokens: 7,
				completion_tokens: 7,
				total_tokens: 14,
				prompt_tokens_details: { cached_tokens: 0 },
				completion_tokens_details: { reasoning_tokens: 4 },
			},
		],
		[
			{ promptTokenCount: 5, candidatesTokenCount: "many", thoughtsTokenCount: -1 },
			{ prompt_tokens: 5, completion_tokens: 0, total_tokens: 5 },
		],
		[{ candidatesTokenCount: 3 }, { prompt_tokens: 0, completion_tokens: 3, total_tokens: 3 }],
		[{ promptTokenCount: -5 }, undefined],
		[undefined, undefined],
	])("with the counts %j has the usage %j", async (usageMetadata, usage) => {
		const candidates = [{ content: { parts: [{ text: "a" }] } }];
		expect((await answerOf({ candidates, usageMetadata })).usage).toEqual(usage);
	});

	it("has defaults for absent fields", async () => {
		const { id, model, choices } = await answerOf({
			candidates: [
				{
					content: {
						parts: [{ text: null }, { thought: true }, { text: "a" }, { functionCall: { name: "f" } }],
					},
					logprobsResult: { chosenCandidates: [{}, { token: "b" }], topCandidates: [{}] },
				},
				{ finishReason: "STOP" },
			],
		});
		expect([id, model]).toEqual(["chatcmpl-uuid-1", "gemini-2.5-flash"]);
		const token = { token: "", logprob: 0, bytes: [], top_logprobs: [] };
		expect(choices).toEqual([
			{
				index: 0,
				message: {
					role: "assistant",
					content: "a",
					tool_calls: [{ id: "call_uuid-2", type: "function", function: { name: "f", arguments: "{}" } }],
				},
				logprobs: { content: [token, { ...token, token: "b", bytes: [98] }] },
				finish_reason: "tool_calls",
			},
			{ index: 1, message: { role: "assistant", content: "" }, logprobs: null, finish_reason: "stop" },
		]);
	});

	it.each([
		{},
		{ finishReason: "" },
		{ content: { parts: [] } },
		{ content: { parts: [{ txt: "hello" }] }, finishReason: "STOP" },
	])("in which nothing can be read is refused, not an empty answer: %j", async (candidate) => {
		expect(await failing({ candidates: [candidate] })).toMatchObject({ key: "executionFailed" });
	});

	it("may have parts that are not read, such as code", async () => {
		const parts = [{ executableCode: { language: "PYTHON", code: "1" } }];
		const { choices } = await answerOf({ candidates: [{ content: { parts }, finishReason: "STOP" }] });
		expect(choices[0]).toMatchObject({ message: { content: "" }, finish_reason: "stop" });
	});

	it("has log probabilities in OpenAI's format", async () => {
		const { choices } = await answerOf(logprobsJson);
		const al = { token: "Al", logprob: -0.0125, bytes: [65, 108] };
		const ice = { token: "ice", logprob: -0.25, bytes: [105, 99, 101] };
		expect(choices[0]?.logprobs).toEqual({
			content: [
				{ ...al, top_logprobs: [al, { token: "Bob", logprob: -4.5, bytes: [66, 111, 98] }] },
				{ ...ice, top_logprobs: [ice] },
			],
		});
	});

	it("has logprobs without their optional fields", async () => {
		const { choices } = await answerOf({
			candidates: [{ logprobsResult: { chosenCandidates: [{}] }, finishReason: "STOP" }],
		});
		expect(choices[0]?.logprobs).toEqual({
			content: [{ token: "", logprob: 0, bytes: [], top_logprobs: [] }],
		});
	});

	it("is answered if a prompt is blocked after its candidates", async () => {
		const reply = {
			candidates: [{ content: { parts: [{ text: "a" }] } }],
			promptFeedback: { blockReason: "OTHER" },
		};
		expect((await answerOf(reply)).choices[0]?.message.content).toBe("a");
	});

	it("has the finish reason", async () => {
		expect((await answerOf(safetyJson)).choices).toEqual([
			{
				index: 0,
				message: { role: "assistant", content: null },
				logprobs: null,
				finish_reason: "content_filter",
			},
		]);
	});

	it.each([
		["STOP", "stop"],
		["MAX_TOKENS", "length"],
		["SAFETY", "content_filter"],
		["RECITATION", "content_filter"],
		["BLOCKLIST", "content_filter"],
		["PROHIBITED_CONTENT", "content_filter"],
		["SPII", "content_filter"],
		["OTHER", "stop"],
		["A_NEW_REASON", "stop"],
	])("maps the finish reason %s to %s", async (finishReason, expected) => {
		const reply = { candidates: [{ content: { parts: [{ text: "a" }] }, finishReason }] };
		expect((await answerOf(reply)).choices[0]?.finish_reason).toBe(expected);
	});

	it("has all required fields without ids, names and counts", async () => {
		const reply = await answerOf({ candidates: [{ content: { parts: [{ text: "a" }] } }] });
		expect(reply).toMatchObject({ id: "chatcmpl-uuid-1", model: "gemini-2.5-flash" });
		expect(reply.usage).toBeUndefined();
	});

	it("rejects a blocked prompt with 400", async () => {
		expect(await failing(blockedJson)).toMatchObject({
			key: "refusedByModel",
			description: "The backend 'lab' blocked the prompt (PROHIBITED_CONTENT)",
			retryable: false,
			upstream: { backend: "lab", status: 200 },
		});
	});

	it("fails for a malformed tool call", async () => {
		expect(await failing(malformedCall)).toMatchObject({
			key: "executionFailed",
			description: "The backend 'lab' gave no answer (MALFORMED_FUNCTION_CALL)",
			retryable: true,
		});
	});

	it.each([
		["nothing", {}],
		["no candidates", { candidates: [] }],
		["another shape", { choices: [] }],
		["no JSON", "<html>"],
	])("rejects %s", async (_, body) => {
		expect(await failing(body)).toMatchObject({ key: "executionFailed", retryable: true });
	});
});

describe("a refusal", () => {
	it.each([
		["an input", 400, invalidError, { key: "engineRefused", retryable: false }],
		["a context that is too long", 400, contextError, { key: "contextWindowExceeded", retryable: false }],
		["the key", 400, keyError, { key: "upstreamUnavailable", retryable: true }],
		["the project", 403, deniedError, { key: "upstreamUnavailable", retryable: true }],
		["the model", 404, noModelError, { key: "noSuchModel", retryable: true }],
		["too many requests", 429, quotaError, { key: "outOfCapacity", retryable: true, retryAfter: 35 }],
		["an overloaded model", 503, unavailableError, { key: "outOfCapacity", retryable: true }],
	])("maps %s (%i) to a failure", async (_, status, body, expected) => {
		expect(await failing(body, status)).toMatchObject(expected);
	});

	it("has the message about an invalid input", async () => {
		expect(await failing(contextError, 400)).toMatchObject({
			description: "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
		});
	});

	it("never contains the key", async () => {
		const error = {
			error: { code: 400, message: `bad header x-goog-api-key: ${KEY}`, status: "INVALID_ARGUMENT" },
		};
		expect(await failing(error, 400)).toMatchObject({ description: "bad header x-goog-api-key: [redacted]" });
	});
});
