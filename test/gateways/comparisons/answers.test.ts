import { describe, expect, it } from "vitest";
import { answerIn, structureOf } from "../../../src/gateways/comparisons/answers.ts";

const sse = (...values: unknown[]): string =>
	values.map((value) => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`).join("");
const named = (...values: { type: string }[]): string =>
	values.map((value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`).join("");
const call = (name: string, input: string) => ({ name, input });

describe("the text and the calls of an answer", () => {
	it.each([
		["a chat", { choices: [{ message: { content: "Hello" } }] }, "Hello", []],
		[
			"a chat of parts",
			{ choices: [{ message: { content: [{ type: "text", text: "Hel" }, { text: "lo" }] } }] },
			"Hello",
			[],
		],
		["a completion", { choices: [{ text: "Hello" }] }, "Hello", []],
		[
			"a chat with calls",
			{
				choices: [
					{ message: { content: null, tool_calls: [{ function: { name: "f", arguments: '{"a":1}' } }] } },
				],
			},
			"",
			[call("f", '{"a":1}')],
		],
		["a run", { response: "Hello" }, "Hello", []],
		["a run in an envelope", { result: { response: "Hello" }, success: true, errors: [] }, "Hello", []],
		["a run in JSON mode", { response: { a: 1 } }, '{"a":1}', []],
		[
			"a run with calls",
			{ response: "", tool_calls: [{ name: "f", arguments: { a: 1 } }] },
			"",
			[call("f", '{"a":1}')],
		],
		[
			"a message",
			{
				type: "message",
				content: [
					{ type: "thinking", thinking: "no" },
					{ type: "text", text: "Hello" },
					{ type: "tool_use", name: "f", input: { a: 1 } },
				],
			},
			"Hello",
			[call("f", '{"a":1}')],
		],
		[
			"a response",
			{
				output: [
					{ type: "reasoning", summary: [] },
					{ type: "message", content: [{ type: "output_text", text: "Hello" }] },
					{ type: "function_call", name: "f", arguments: "{}" },
				],
			},
			"Hello",
			[call("f", "{}")],
		],
		[
			"Gemini's",
			{
				candidates: [
					{
						content: {
							parts: [
								{ text: "no", thought: true },
								{ text: "Hello" },
								{ functionCall: { name: "f", args: { a: 1 } } },
							],
						},
					},
				],
			},
			"Hello",
			[call("f", '{"a":1}')],
		],
		["a failure", { error: { message: "no" } }, "", []],
		["a number", 1, "", []],
	] as const)("%s", (_, value, text, calls) => {
		expect(answerIn(JSON.stringify(value))).toEqual({ text, calls });
	});

	it.each([
		[
			"chunks",
			sse(
				{ choices: [{ delta: { content: "Hel" } }] },
				{ choices: [{ delta: { content: "lo" } }] },
				{ choices: [] },
				"[DONE]",
			),
			"Hello",
			[],
		],
		[
			"chunks of calls",
			sse(
				{ choices: [{ delta: { tool_calls: [{ index: 0, function: { name: "f", arguments: "" } }] } }] },
				{ choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] } }] },
				{ choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: ":1}" } }] } }] },
			),
			"",
			[call("f", '{"a":1}')],
		],
		["a run", sse({ response: "Hel" }, { response: "lo" }, "[DONE]"), "Hello", []],
		[
			"a message",
			named(
				{ type: "message_start" },
				{ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } } as never,
				{ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } } as never,
				{
					type: "content_block_start",
					index: 1,
					content_block: { type: "tool_use", name: "f", input: {} },
				} as never,
				{
					type: "content_block_delta",
					index: 1,
					delta: { type: "input_json_delta", partial_json: '{"a":1}' },
				} as never,
			),
			"Hello",
			[call("f", '{"a":1}')],
		],
		[
			"a response",
			named(
				{ type: "response.output_text.delta", delta: "Hel" } as never,
				{
					type: "response.completed",
					response: { output: [{ type: "message", content: [{ text: "Hello" }] }] },
				} as never,
			),
			"Hello",
			[],
		],
		[
			"Gemini's",
			sse(
				{ candidates: [{ content: { parts: [{ text: "Hel" }] } }] },
				{ candidates: [{ content: { parts: [{ text: "lo" }] } }] },
			),
			"Hello",
			[],
		],
		["a stream that broke off", 'data: {"choices":[{"delta":{"content":"Hel"}}]}\n\ndata: {"choi', "Hel", []],
	] as const)("events of %s", (_, body, text, calls) => {
		expect(answerIn(body)).toEqual({ text, calls });
	});

	it("of another format is its text", () => {
		expect(answerIn("Hello, {world}")).toEqual({ text: "Hello, {world}", calls: [] });
	});
});

describe("the structure of an answer", () => {
	it.each([
		['{"a":1}', { a: 1 }],
		['```json\n{"a":1}\n```', { a: 1 }],
		["```\n[1]\n```", [1]],
		["12", undefined],
		['"text"', undefined],
		["Here: {}", undefined],
		[`\`\`\`${"\n".repeat(200_000)}`, undefined],
	] as const)("%#", (text, value) => {
		expect(structureOf({ text, calls: [] })).toEqual(value);
	});
});
