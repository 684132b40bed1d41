import { describe, expect, it } from "vitest";
import { openaiChat } from "../../../src/dialects/chat/openai-route.ts";
import {
	completion,
	GUARD,
	KIMI,
	LEGACY,
	LLAMA,
	LLAMA_70B,
	NOW,
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
