import { describe, expect, it } from "vitest";
import { openaiChat } from "../../../src/dialects/chat/openai-route.ts";
import {
	completion,
	GUARD,
	KIMI,
	LEGACY,
	LLAMA,
	LLAMA_70B,
	LORA,
	NOW,
	QWEN,
	read,
	SCOUT,
	toolCall,
	USAGE,
	writtenJson,
} from "./chat.ts";

const messages = [{ role: "user", content: "Hello" }];
const chat = (model: typeof LLAMA, sent: object) =>
	read(model, { model: model.id, ...sent }, openaiChat).input;

describe("a chat on the OpenAI route", () => {
	it("has the model's own defaults", () => {
		expect(chat(LLAMA, { messages })).toStrictEqual({
			messages,
			stream: false,
			max_tokens: 256,
			temperature: 0.6,
		});
		expect(chat(KIMI, { messages })).toMatchObject({ messages, temperature: 1, n: 1 });
		expect(chat(LLAMA, { messages, max_completion_tokens: 5 }).max_tokens).toBe(5);
	});

	it("accepts OpenAI's fields for native models", () => {
		const extra = {
			stop: ["x"],
			n: 2,
			logprobs: true,
			top_k: 3,
			seed: 0,
			user: "u",
			reasoning_effort: "low",
		};
		expect(chat(LLAMA, { messages, ...extra })).toMatchObject(extra);
	});

	it("requires messages, also with a prompt", () => {
		expect(() => chat(KIMI, { prompt: "x" })).toThrowError(
			"5006: Error: required properties at '/' are 'messages'",
		);
	});

	it.each([LEGACY, GUARD])("refuses parts for a model with text-only messages: $id", (model) => {
		const parts = [{ role: "user", content: [{ type: "text", text: "Hello" }] }];
		expect(chat(model, { messages }).messages).toEqual(messages);
		expect(() => chat(model, { messages: parts })).toThrowError(
			"5006: Error: Type mismatch of '/messages/0/content'",
		);
		expect(chat(LLAMA, { messages: parts }).messages).toEqual(parts);
	});

	it("requires data URIs if the model's own route does", () => {
		const withImage = (url: string) => [
			{ role: "user", content: [{ type: "image_url", image_url: { url } }] },
		];
		expect(() => chat(SCOUT, { messages: withImage("https://a/b.png") })).toThrowError("must be a data: URI");
		expect(chat(SCOUT, { messages: withImage("data:image/png;base64,AA") }).messages).toHaveLength(1);
		expect(chat(KIMI, { messages: withImage("https://a/b.png") }).messages).toHaveLength(1);
	});

	it("accepts calls and results for every model", () => {
		const tool_calls = [toolCall("now", "{}")];
		const turns = [
			...messages,
			{ role: "assistant", content: null, tool_calls },
			{ role: "tool", content: "noon", tool_call_id: "call_1" },
		];
		for (const model of [LLAMA, LEGACY, LLAMA_70B, SCOUT, KIMI])
			expect(chat(model, { messages: turns }).messages).toEqual(turns);
	});

	it("must match the model's own schema on a strict route", () => {
		const strictly = (model: typeof LLAMA, extra: object) =>
			read(model, { model: model.id, messages, ...extra }, openaiChat, true).input;
		const calls = { role: "assistant", content: null, tool_calls: [toolCall("now", "{}")] };
		const afterCalls = { messages: [...messages, calls] };
		for (const [extra, finding] of [
			[{ seed: -1 }, "'/seed' must be >= 1"],
			[{ top_p: 0 }, "'/top_p' must be >= 0.001"],
			[{ temperature: 5.1 }, "'/temperature' must be <= 5"],
			[{ temperature: null }, "Type mismatch of '/temperature', 'number' not in 'null'"],
			[
				{ functions: [{ name: "f", parameters: {} }] },
				"required properties at '/functions/0' are 'name,code'",
			],
			[afterCalls, "Type mismatch of '/messages/1/content', 'string' not in 'null'"],
		] as const)
			for (const model of [LLAMA_70B, QWEN])
				expect(() => strictly(model, extra)).toThrowError(`5006: Error: ${finding}`);
		expect(strictly(LLAMA_70B, { temperature: 3 }).temperature).toBe(3);
		expect(() => chat(LLAMA_70B, { messages, temperature: 3 })).toThrowError("'/temperature' must be <= 2");
		// Fields of OpenAI's schema only.
		expect(strictly(LLAMA_70B, { n: 2, stop: "x", logprobs: true })).toMatchObject({ n: 2, stop: ["x"] });
		// These models' schemas allow it.
		for (const model of [KIMI, SCOUT]) expect(strictly(model, afterCalls).messages).toHaveLength(2);
		expect(() => strictly(KIMI, { user: null })).toThrowError(
			"5006: Error: Type mismatch of '/user', 'string' not in 'null'",
		);
		expect(strictly(KIMI, { temperature: null, reasoning_effort: null })).toMatchObject({
			reasoning_effort: null,
		});
	});

	it("accepts an adapter only for models with adapters", () => {
		expect(chat(LORA, { messages, lora: "cf-public-x" }).lora).toBe("cf-public-x");
		for (const model of [LLAMA, KIMI])
			expect(() => chat(model, { messages, lora: "x" })).toThrowError(
				`5005: The model ${model.id} does not support LoRA inference`,
			);
	});

	it("accepts a schema with or without OpenAI's wrapper", () => {
		const schema = { type: "object" };
		const format = (json_schema: object) =>
			chat(LLAMA, { messages, response_format: { type: "json_schema", json_schema } }).response_format;
		expect(format({ name: "n", schema })).toEqual({
			type: "json_schema",
			json_schema: { name: "n", schema },
		});
		expect(format(schema)).toEqual({ type: "json_schema", json_schema: { name: "response", schema } });
	});
});

describe("an answer on the OpenAI route", () => {
	it("is a chat completion, also for native models", () => {
		const output = completion({ content: "Hi" }, { id: "" });
		expect(writtenJson(LLAMA, { messages }, { kind: "value", output }, openaiChat)).toStrictEqual({
			id: `id-${NOW}`,
			object: "chat.completion",
			created: 1_776_784_300,
			model: LLAMA.id,
			choices: [
				{
					index: 0,
					message: { role: "assistant", content: "Hi", refusal: null },
					finish_reason: "stop",
					logprobs: null,
				},
			],
			usage: USAGE,
		});
	});
});
