import { describe, expect, it } from "vitest";
import { openaiChat } from "../../../src/dialects/chat/openai-route.ts";
import { nativeDialect } from "../../../src/dialects/native.ts";
import { modelSchema } from "../../../src/dialects/schema.ts";
import { adHocModel } from "../../../src/models/catalog.ts";
import {
	chatModel,
	completion,
	GUARD,
	KIMI,
	KIMI_CODE,
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
/** The fields of every chat. */
const READ = { messages, takesReasoningDetails: true };
const chat = (model: typeof LLAMA, sent: object) =>
	read(model, { model: model.id, ...sent }, openaiChat).input;

describe("a chat on the OpenAI route", () => {
	it("has the model's own defaults", () => {
		expect(chat(LLAMA, { messages })).toStrictEqual({
			...READ,
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
				`5005: The model ${model.id} does not support LoRa inference`,
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
			system_fingerprint: null,
			usage: USAGE,
		});
	});
});

const tool = { type: "function", function: { name: "now" } };
const DEFAULTS = {
	stream: false,
	temperature: 1,
	top_p: 1,
	n: 1,
	logprobs: false,
	frequency_penalty: 0,
	presence_penalty: 0,
};

describe("an OpenAI chat input", () => {
	it("reads messages or a prompt, with the model's own defaults", () => {
		expect(read(KIMI, { messages }).input).toStrictEqual({ ...READ, ...DEFAULTS });
		expect(read(KIMI, { prompt: "Hello", model: "ignored" }).input).toStrictEqual({ ...READ, ...DEFAULTS });
		expect(read(adHocModel("llama3.2"), { messages }).input).toStrictEqual({ ...READ, stream: false });
	});

	it("reads null as absent", () => {
		const nulls = {
			temperature: null,
			top_p: null,
			n: null,
			logprobs: null,
			frequency_penalty: null,
			presence_penalty: null,
			max_tokens: null,
			max_completion_tokens: null,
			seed: null,
			stop: null,
			stream: null,
			stream_options: null,
			tools: null,
			tool_choice: null,
			top_logprobs: null,
			logit_bias: null,
			audio: null,
			metadata: null,
			modalities: null,
			prediction: null,
			store: null,
			web_search_options: null,
		};
		expect(read(KIMI, { messages, ...nulls }).input).toStrictEqual({ ...READ, stream: false });
	});

	it("keeps every field", () => {
		const fields = {
			temperature: 2,
			top_p: 0,
			top_k: 5,
			n: 128,
			seed: -1,
			logprobs: true,
			top_logprobs: 20,
			logit_bias: { 50256: -100 },
			frequency_penalty: -2,
			presence_penalty: 2,
			repetition_penalty: 1.1,
			stop: ["a", "b"],
			stream: true,
			tools: [tool],
			tool_choice: tool,
			parallel_tool_calls: false,
			response_format: { type: "json_schema", json_schema: { name: "n", schema: {}, strict: true } },
			reasoning_effort: "low",
			chat_template_kwargs: { enable_thinking: false, clear_thinking: true, thinking: false },
			user: "u",
		};
		expect(read(KIMI, { messages, ...fields }).input).toStrictEqual({ ...READ, ...fields });
	});

	it("accepts a JSON Schema without OpenAI's wrapper", () => {
		const schema = { type: "object", properties: { name: { type: "string" } } };
		const { input } = read(KIMI, {
			messages,
			response_format: { type: "json_schema", json_schema: schema },
		});
		expect(input.response_format).toEqual({ type: "json_schema", json_schema: { name: "response", schema } });
	});

	it("accepts llama.cpp's schema with json_object on a lenient route", () => {
		const schema = { type: "object", properties: { yes: { type: "boolean" } } };
		const sent = { messages, response_format: { type: "json_object", schema } };
		const asSchema = { type: "json_schema", json_schema: { name: "response", schema } };
		for (const model of [adHocModel("llama3.2"), KIMI, LLAMA, LLAMA_70B])
			expect(read(model, sent).input.response_format).toEqual(asSchema);
		// The product's schemas do not have the field.
		for (const model of [KIMI, LLAMA, LLAMA_70B])
			expect(read(model, sent, nativeDialect(model), true).input.response_format).toEqual({
				type: "json_object",
			});
	});

	it("reads Mistral's `any` as `required` on a lenient route", () => {
		const sent = { messages, tools: [tool], tool_choice: "any" };
		for (const model of [adHocModel("mistral-medium-latest"), KIMI, LLAMA_70B])
			expect(chat(model, sent).tool_choice).toBe("required");
		expect(() => read(KIMI, sent, nativeDialect(KIMI), true)).toThrowError(
			"8001: Invalid input: tool_choice",
		);
	});

	it("converts legacy functions to tools", () => {
		const sent = { messages, functions: [{ name: "now" }], function_call: { name: "now" } };
		const { passthrough, tools, tool_choice } = read(KIMI, sent).input;
		expect(tools).toEqual([tool]);
		expect(tool_choice).toEqual(tool);
		expect(passthrough).toBeUndefined();
		expect(() => read(KIMI, { ...sent, tools: [tool] })).toThrowError(
			"8001: Invalid input: functions: send either functions or tools",
		);
	});

	it("forwards fields of OpenAI's service", () => {
		const passthrough = {
			audio: { voice: "alloy", format: "wav" },
			functions: [{ name: "f", code: "return 1" }],
			metadata: { a: "b" },
			modalities: ["text"],
			prediction: { type: "content", content: "x" },
			service_tier: "auto",
			store: true,
			web_search_options: {},
		};
		expect(read(KIMI, { messages, ...passthrough, unheard_of: 1 }).input.passthrough).toStrictEqual(
			passthrough,
		);
		expect(read(chatModel("gemma-4-26b-a4b-it"), { messages }).input.passthrough).toStrictEqual({
			skip_special_tokens: false,
		});
	});

	it("prefers max_completion_tokens to max_tokens", () => {
		const limit = (sent: object) => read(KIMI, { messages, ...sent }).input.max_tokens;
		expect(limit({ max_tokens: 5 })).toBe(5);
		expect(limit({ max_tokens: 5, max_completion_tokens: 7 })).toBe(7);
		expect(limit({ max_tokens: 5, max_completion_tokens: null })).toBe(5);
	});

	it("converts stop to a list, and drops parallel_tool_calls without tools", () => {
		expect(read(KIMI, { messages, stop: "END" }).input.stop).toEqual(["END"]);
		expect(read(KIMI, { messages, stop: [] }).input).not.toHaveProperty("stop");
		expect(read(KIMI, { messages, tools: [tool] }).input).toMatchObject({
			tools: [tool],
			parallel_tool_calls: true,
		});
		expect(read(KIMI, { messages, parallel_tool_calls: true }).input).not.toHaveProperty(
			"parallel_tool_calls",
		);
	});

	it.each([null, "none", "minimal", "medium", "xhigh", "max"])(
		"reads reasoning_effort %s",
		(reasoning_effort) => {
			expect(read(KIMI, { messages, reasoning_effort }).input.reasoning_effort).toBe(reasoning_effort);
		},
	);

	it("cannot disable reasoning if the model requires it", () => {
		expect(read(KIMI_CODE, { messages, reasoning_effort: "low" }).input).not.toHaveProperty(
			"reasoning_effort",
		);
		expect(() =>
			read(KIMI_CODE, { messages, chat_template_kwargs: { enable_thinking: false } }),
		).toThrowError("5006: ");
		expect(
			read(KIMI_CODE, { messages, chat_template_kwargs: { enable_thinking: true } }).input,
		).toMatchObject({
			chat_template_kwargs: { enable_thinking: true },
		});
	});

	it("reads messages of every role, legacy ones included", () => {
		const sent = [
			{ role: "developer", content: "Be brief." },
			{ role: "user", content: [{ type: "image_url", image_url: { url: "https://a/b.png" } }], name: "ann" },
			{
				role: "assistant",
				content: null,
				tool_calls: [{ id: "a", ...tool, function: { name: "now", arguments: "{}" } }],
			},
			{ role: "tool", content: "noon", tool_call_id: "a" },
			{ role: "assistant", content: null, function_call: { name: "now", arguments: "{}" } },
			{ role: "function", name: "now", content: "one" },
			{ role: "assistant", content: [{ type: "text", text: "Noon" }], reasoning: "Hm" },
		];
		expect(read(KIMI, { messages: sent }).input.messages).toEqual([
			sent[0],
			sent[1],
			sent[2],
			sent[3],
			{
				role: "assistant",
				content: null,
				tool_calls: [{ id: "call00000", type: "function", function: { name: "now", arguments: "{}" } }],
			},
			{ role: "tool", content: "one", tool_call_id: "call00000" },
			{ role: "assistant", content: [{ type: "text", text: "Noon" }], reasoning_content: "Hm" },
		]);
	});

	it.each([
		[{ messages, prompt: "x" }, "5006: Error: oneOf at '/' not met, 2 matches"],
		[{ messages, temperature: 2.1 }, "'/temperature' must be <= 2"],
		[{ messages, stop: ["a", "b", "c", "d", "e"] }, "'/stop'"],
		[{ messages: [{ role: "wizard", content: "a" }] }, "'/messages/0/role'"],
		[{ messages: [{ role: "user" }] }, "5006: Error: required properties at '/messages/0' are 'content'"],
		[
			{ messages, response_format: { type: "json_schema", json_schema: { schema: {} } } },
			"required properties at '/response_format/json_schema' are 'name'",
		],
		[{ messages, tool_choice: "sometimes", tools: [tool] }, "8001: Invalid input: tool_choice must be"],
		[
			{ messages, tools: [{ type: "web_search" }] },
			"8001: Invalid input: tools[0].type must be function or custom",
		],
		[{ messages, max_completion_tokens: 0 }, "8001: Invalid input: max_tokens must be at least 1"],
	])("is refused: %#", (sent, message) => {
		expect(() => read(KIMI, sent)).toThrowError(message);
	});
});

describe("an OpenAI chat input on a strict route", () => {
	it.each([
		[{ reasoning_effort: "xhigh" }, "enum value not in low,medium,high at '/reasoning_effort'"],
		[{ modalities: ["video"] }, "enum value not in text,audio at '/modalities/0'"],
		[{ audio: { format: "wav" } }, "required properties at '/audio' are 'voice,format'"],
		[
			{ audio: { voice: "alloy", format: "ogg" } },
			"enum value not in wav,aac,mp3,flac,opus,pcm16 at '/audio/format'",
		],
		[
			{ prediction: { type: "text", content: "a" } },
			"const value doesn't match content at '/prediction/type'",
		],
		[{ prediction: { type: "content" } }, "required properties at '/prediction' are 'type,content'"],
		[
			{ web_search_options: { search_context_size: "huge" } },
			"enum value not in low,medium,high at '/web_search_options/search_context_size'",
		],
		[{ functions: [{ description: "a" }] }, "required properties at '/functions/0' are 'name'"],
		[{ user: null }, "Type mismatch of '/user', 'string' not in 'null'"],
	])("must match the declared schema: %j", (fields, finding) => {
		const sent = { messages, ...fields };
		expect(() => read(KIMI, sent, nativeDialect(KIMI), true)).toThrowError(
			`5006: Error: oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt', ${finding}`,
		);
	});

	it("accepts other values on a lenient route", () => {
		for (const fields of [{ reasoning_effort: "xhigh" }, { modalities: ["video"] }, { audio: {} }])
			expect(read(KIMI, { messages, user: null, ...fields }).input.messages).toEqual(messages);
	});

	it("accepts declared values", () => {
		const declared = {
			reasoning_effort: "low",
			modalities: ["text", "audio"],
			audio: { voice: { id: "v" }, format: "pcm16" },
			prediction: { type: "content", content: [{ type: "text", text: "a" }] },
			web_search_options: { user_location: { type: "approximate", approximate: { city: "Rome" } } },
		};
		const { reasoning_effort, ...passthrough } = declared;
		const sent = { messages, ...declared, functions: [{ name: "now" }] };
		expect(read(KIMI, sent, nativeDialect(KIMI), true).input).toMatchObject({
			reasoning_effort,
			passthrough,
			tools: [tool],
		});
	});
});

describe("the schema of an OpenAI chat model", () => {
	it("has the model's fields", () => {
		const { input } = modelSchema(KIMI_CODE) as {
			input: { oneOf: { properties: Record<string, unknown> }[] };
		};
		const fields = input.oneOf[1]?.properties ?? {};
		expect(fields).toHaveProperty("temperature.default", 1);
		expect(fields).not.toHaveProperty("reasoning_effort");
		expect(fields).toHaveProperty("messages.items.properties.tool_calls.anyOf.0.items.anyOf", [
			{
				type: "object",
				properties: {
					id: { type: "string" },
					type: { type: "string", enum: ["function"] },
					function: expect.objectContaining({ required: ["name"] }),
				},
				required: ["function"],
			},
			expect.objectContaining({ required: ["name"] }),
		]);
		expect(Object.keys(fields)).toEqual(
			expect.arrayContaining(["messages", "tools", "stream_options", "response_format"]),
		);
	});
});
