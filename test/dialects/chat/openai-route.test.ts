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
const chat = (asked: typeof LLAMA, sent: object) =>
	read(asked, { model: asked.id, ...sent }, openaiChat).input;

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

	it("takes OpenAI's fields for native models", () => {
		const more = { stop: ["x"], n: 2, logprobs: true, top_k: 3, seed: 0, user: "u", reasoning_effort: "low" };
		expect(chat(LLAMA, { messages, ...more })).toMatchObject(more);
	});

	it("takes a prompt for nothing", () => {
		expect(() => chat(KIMI, { prompt: "x" })).toThrowError(
			"5006: Error: required properties at '/' are 'messages'",
		);
	});

	it.each([LEGACY, GUARD])("has text alone for a model whose messages are text: $id", (asked) => {
		const parts = [{ role: "user", content: [{ type: "text", text: "Hello" }] }];
		expect(chat(asked, { messages }).messages).toEqual(messages);
		expect(() => chat(asked, { messages: parts })).toThrowError(
			"5006: Error: Type mismatch of '/messages/0/content'",
		);
		expect(chat(LLAMA, { messages: parts }).messages).toEqual(parts);
	});

	it("has images inside the request for a model whose own inputs have them there", () => {
		const seen = (url: string) => [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }];
		expect(() => chat(SCOUT, { messages: seen("https://a/b.png") })).toThrowError("must be a data: URI");
		expect(chat(SCOUT, { messages: seen("data:image/png;base64,AA") }).messages).toHaveLength(1);
		expect(chat(KIMI, { messages: seen("https://a/b.png") }).messages).toHaveLength(1);
	});

	it("can be gone on with after calls of tools, for every model", () => {
		const tool_calls = [toolCall("now", "{}")];
		const turns = [
			...messages,
			{ role: "assistant", content: null, tool_calls },
			{ role: "tool", content: "noon", tool_call_id: "call_1" },
		];
		for (const asked of [LLAMA, LEGACY, LLAMA_70B, SCOUT, KIMI])
			expect(chat(asked, { messages: turns }).messages).toEqual(turns);
	});

	it("holds to the model's own schema where it is strict", () => {
		const strictly = (asked: typeof LLAMA, more: object) =>
			read(asked, { model: asked.id, messages, ...more }, openaiChat, true).input;
		const calls = { role: "assistant", content: null, tool_calls: [toolCall("now", "{}")] };
		const afterCalls = { messages: [...messages, calls] };
		for (const [more, finding] of [
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
			for (const asked of [LLAMA_70B, QWEN])
				expect(() => strictly(asked, more)).toThrowError(`5006: Error: ${finding}`);
		expect(strictly(LLAMA_70B, { temperature: 3 }).temperature).toBe(3);
		expect(() => chat(LLAMA_70B, { messages, temperature: 3 })).toThrowError("'/temperature' must be <= 2");
		// Fields that only OpenAI's schema has.
		expect(strictly(LLAMA_70B, { n: 2, stop: "x", logprobs: true })).toMatchObject({ n: 2, stop: ["x"] });
		// These models' schemas take it.
		for (const asked of [KIMI, SCOUT]) expect(strictly(asked, afterCalls).messages).toHaveLength(2);
		expect(() => strictly(KIMI, { user: null })).toThrowError(
			"5006: Error: Type mismatch of '/user', 'string' not in 'null'",
		);
		expect(strictly(KIMI, { temperature: null, reasoning_effort: null })).toMatchObject({
			reasoning_effort: null,
		});
	});

	it("takes an adapter only for a model that has them", () => {
		expect(chat(LORA, { messages, lora: "cf-public-x" }).lora).toBe("cf-public-x");
		for (const asked of [LLAMA, KIMI])
			expect(() => chat(asked, { messages, lora: "x" })).toThrowError(
				`5005: The model ${asked.id} does not support LoRA inference`,
			);
	});

	it("takes a schema with OpenAI's name around it, or bare", () => {
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
	it("is a chat completion of a native model too", () => {
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
