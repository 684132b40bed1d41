import { describe, expect, it } from "vitest";
import type { ChatCompletion } from "../../../src/tasks/text-generation/types.ts";
import { completion, KIMI, NOW, QWEN, toolCall, USAGE, writtenJson } from "./chat.ts";

const messages = [{ role: "user", content: "Hello" }];
const value = (output: ChatCompletion, model = KIMI, sent: object = { messages }) =>
	writtenJson(model, sent, { kind: "value", output });

describe("a chat completion", () => {
	it("is the engine's reply with the catalogue's model name", () => {
		const output = completion(
			{ content: "Hi", reasoning_content: "Hm", tool_calls: null },
			{ id: "chatcmpl-abc", system_fingerprint: "fp", ...{ timings: { n: 1 } } },
		);
		expect(JSON.stringify(value(output))).toBe(
			JSON.stringify({
				id: "chatcmpl-abc",
				object: "chat.completion",
				created: 1_776_784_300,
				model: "@cf/moonshotai/kimi-k2.6",
				choices: [
					{
						index: 0,
						message: {
							role: "assistant",
							content: "Hi",
							reasoning_content: "Hm",
							tool_calls: null,
							refusal: null,
						},
						finish_reason: "stop",
						logprobs: null,
					},
				],
				usage: USAGE,
				system_fingerprint: "fp",
				timings: { n: 1 },
			}),
		);
	});

	it("has its call in the legacy form if the caller sent functions", () => {
		const called = completion({ content: null, tool_calls: [toolCall("now", "{}")] });
		const output = {
			...called,
			choices: called.choices.map((choice) => ({ ...choice, finish_reason: "tool_calls" })),
		};
		const sent = { messages, functions: [{ name: "now" }], function_call: { name: "now" } };
		const { choices } = value(output, KIMI, sent) as { choices: { message: object }[] };
		expect(choices[0]).toMatchObject({
			message: { content: null, function_call: { name: "now", arguments: "{}" } },
			finish_reason: "function_call",
		});
		expect(choices[0]?.message).not.toHaveProperty("tool_calls");
	});

	it("has all required fields if the engine omits them", () => {
		const bare = {
			choices: [{ message: { tool_calls: [toolCall("now", "{}")] } }],
		} as unknown as ChatCompletion;
		expect(value(bare)).toStrictEqual({
			id: `id-${NOW}`,
			object: "chat.completion",
			created: Math.floor(NOW / 1000),
			model: KIMI.id,
			choices: [
				{
					index: 0,
					message: { role: "assistant", content: null, refusal: null, tool_calls: [toolCall("now", "{}")] },
					finish_reason: "stop",
					logprobs: null,
				},
			],
		});
	});

	it("keeps every choice, its logprobs and vLLM's fields", () => {
		const choice = {
			index: 1,
			message: { role: "assistant" as const, content: "b" },
			finish_reason: "length",
			logprobs: { content: [] },
			stop_reason: 5,
		};
		const output = completion({ content: "a" });
		expect(value({ ...output, choices: [...output.choices, choice] })).toMatchObject({
			choices: [{ index: 0 }, { ...choice, message: { content: "b", refusal: null } }],
		});
		expect(value(output)).not.toHaveProperty("prompt_logprobs");
		expect(value(output, QWEN)).toHaveProperty("prompt_logprobs", null);
		expect(value({ ...output, ...{ prompt_logprobs: [1] } }, QWEN)).toHaveProperty("prompt_logprobs", [1]);
	});

	it("keeps a JSON mode document as text", () => {
		const sent = { messages, response_format: { type: "json_object" } };
		expect(value(completion({ content: "no JSON" }), KIMI, sent)).toMatchObject({
			choices: [{ message: { content: "no JSON" } }],
		});
	});
});

describe("an answer to a prompt of models with legacy inputs", () => {
	it("is a text completion", () => {
		expect(value(completion({ content: "Hi", reasoning: "Hm" }), QWEN, { prompt: "Hello" })).toStrictEqual({
			id: "cmpl-00000000000040008000000000000001",
			object: "text_completion",
			created: 1_776_784_300,
			model: QWEN.id,
			choices: [{ index: 0, text: "<think>\nHm\n</think>\n\nHi", finish_reason: "stop", logprobs: null }],
			usage: USAGE,
		});
		expect(
			value(completion({ content: "Hi" }, { id: "cmpl-7" }), QWEN, { prompt: "Hello", raw: true }),
		).toMatchObject({
			id: "cmpl-7",
			object: "text_completion",
			choices: [{ text: "Hi" }],
		});
	});

	it("is a chat completion for every other model", () => {
		expect(value(completion({ content: "Hi" }), KIMI, { prompt: "Hello" })).toMatchObject({
			object: "chat.completion",
		});
	});
});
