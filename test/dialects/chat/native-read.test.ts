import { describe, expect, it } from "vitest";
import { nativeDialect } from "../../../src/dialects/native.ts";
import { modelSchema } from "../../../src/dialects/schema.ts";
import {
	chatModel,
	KIMI,
	LEGACY,
	LLAMA,
	LLAMA_70B,
	LORA,
	MISTRAL,
	QWEN,
	read,
	SCOUT,
	toolCall,
	VISION,
} from "./chat.ts";

const hello = [{ role: "user", content: "Hello" }];

describe("a native chat input", () => {
	it("reads a prompt as a user message, with the model's own defaults", () => {
		expect(read(LLAMA, { prompt: "Hello" }).input).toStrictEqual({
			messages: hello,
			stream: false,
			max_tokens: 256,
			temperature: 0.6,
		});
		expect(read(QWEN, { prompt: "Hello" }).input).toMatchObject({ max_tokens: 2000, temperature: 0.6 });
		expect(read(SCOUT, { prompt: "Hello" }).input).toMatchObject({ max_tokens: 256, temperature: 0.15 });
	});

	it("keeps a raw prompt unchanged", () => {
		expect(read(LLAMA, { prompt: "<s>[INST] Hi", raw: true, max_tokens: 5 }).input).toStrictEqual({
			messages: [],
			prompt: "<s>[INST] Hi",
			stream: false,
			max_tokens: 5,
			temperature: 0.6,
		});
	});

	it("reads messages and every sampling field", () => {
		const sampling = {
			stream: true,
			max_tokens: 1,
			temperature: 5,
			top_p: 0.001,
			top_k: 50,
			seed: 9_999_999_999,
			repetition_penalty: 2,
			frequency_penalty: -2,
			presence_penalty: 2,
		};
		expect(read(LLAMA, { messages: hello, ...sampling }).input).toStrictEqual({
			messages: hello,
			...sampling,
		});
	});

	it("drops unknown fields, and accepts functions with code", () => {
		const sent = { messages: hello, functions: [{ name: "f", code: "return 1" }], stop: "x", invented: true };
		expect(Object.keys(read(LLAMA, sent).input)).toEqual(["messages", "stream", "max_tokens", "temperature"]);
		const base = chatModel("deepseek-math-7b-base");
		expect(read(base, { prompt: "1+1=", raw: true, top_k: 999, tools: 5 }).input).toStrictEqual({
			messages: [],
			prompt: "1+1=",
			stream: false,
			max_tokens: 256,
		});
	});

	it.each([
		[
			LLAMA,
			{},
			"oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt', required properties at '/' are 'messages'",
		],
		[LLAMA, { prompt: "a", messages: hello }, "oneOf at '/' not met, 2 matches"],
		[LLAMA, { prompt: "" }, "Length of '/prompt' must be >= 1 not met"],
		[LLAMA, { prompt: "a", temperature: 5.1 }, "'/temperature' must be <= 5"],
		[LLAMA, { prompt: "a", top_p: 0 }, "'/top_p' must be >= 0.001"],
		[LLAMA, { prompt: "a", max_tokens: 1.5 }, "Type mismatch of '/max_tokens', 'integer' not in 'number'"],
		[LLAMA, { prompt: "a", temperature: null }, "Type mismatch of '/temperature', 'number' not in 'null'"],
		[LLAMA, { messages: [{ role: "user" }] }, "required properties at '/messages/0' are 'role,content'"],
		[
			LLAMA,
			{ messages: [{ role: "user", content: null }] },
			"Type mismatch of '/messages/0/content', 'string' not in 'null'",
		],
		[
			LLAMA,
			{ messages: [...hello, { role: "assistant", content: null, tool_calls: [toolCall("now", "{}")] }] },
			"Type mismatch of '/messages/1/content', 'string' not in 'null'",
		],
		[LLAMA, { messages: hello, tools: null }, "Type mismatch of '/tools', 'array' not in 'null'"],
		[
			LLAMA_70B,
			{ messages: hello, functions: [{ name: "f" }] },
			"required properties at '/functions/0' are 'name,code'",
		],
		[
			SCOUT,
			{ messages: [...hello, { role: "tool", content: "noon", tool_call_id: "call_1" }] },
			"'/messages/1/tool_call_id' failed test [a-zA-Z0-9]{9} pattern",
		],
		[LEGACY, { prompt: "a", frequency_penalty: -1 }, "'/frequency_penalty' must be >= 0"],
		[
			LEGACY,
			{ messages: [{ role: "user", content: [{ type: "text", text: "a" }] }] },
			"Type mismatch of '/messages/0/content', 'string' not in 'array'",
		],
		[LEGACY, { prompt: "a".repeat(131_073) }, "Length of '/prompt' must be <= 131072"],
	])("refuses with the product's wording: %#", (model, sent, finding) => {
		const strictly = () => read(model, sent, nativeDialect(model), true);
		expect(strictly).toThrowError(expect.objectContaining({ code: 5006 }));
		expect(strictly).toThrowError(finding);
	});

	it("accepts null as absent on a lenient route, and an assistant's message without content", () => {
		const tool_calls = [toolCall("now", "{}", "call_1")];
		const messages = [
			...hello,
			{ role: "assistant", content: null, tool_calls },
			{ role: "tool", content: "noon", tool_call_id: "call_1" },
		];
		for (const model of [LLAMA, LEGACY, QWEN, SCOUT])
			expect(read(model, { messages, temperature: null, tools: null, functions: [{}] }).input).toEqual(
				read(model, { messages }).input,
			);
		expect(() => read(LLAMA, { messages: [{ role: "user", content: null }] })).toThrowError(
			"5006: Error: required properties at '/messages/0' are 'content'",
		);
	});

	it("has no pattern for the id of a call if the model's schema does not have the field", () => {
		const messages = [...hello, { role: "tool", content: "noon", tool_call_id: "a b!" }];
		for (const model of [LLAMA, LLAMA_70B])
			expect(read(model, { messages }, nativeDialect(model), true).input.messages[1]).toMatchObject({
				tool_call_id: "a b!",
			});
	});

	it("requires no content on a strict route if the model's schema requires no field of a message", () => {
		const tool_calls = [toolCall("now", "{}", "call00000")];
		const messages = [...hello, { role: "assistant", content: null, tool_calls }];
		for (const model of [SCOUT, MISTRAL, VISION, KIMI])
			expect(read(model, { messages }, nativeDialect(model), true).input.messages).toEqual(messages);
		const result = { role: "tool", content: "noon", tool_call_id: "chatcmpl-tool-0123456789abcdef" };
		expect(
			read(SCOUT, { messages: [...hello, result] }, nativeDialect(SCOUT), true).input.messages,
		).toHaveLength(2);
	});

	it.each([
		[{ messages: [] }, "messages must not be empty"],
		[{ prompt: "a", max_tokens: 0 }, "max_tokens must be at least 1"],
		[
			{ messages: [{ role: "wizard", content: "a" }] },
			"messages[0].role must be system, developer, user, assistant or tool",
		],
		[
			{ messages: hello, tool_choice: "any", tools: [{ name: "f" }] },
			"tool_choice must be none, auto, required, or name a function",
		],
	])("refuses what engines refuse: %#", (sent, sentence) => {
		expect(() => read(LLAMA, sent)).toThrowError(`8001: Invalid input: ${sentence}`);
	});

	it("accepts an adapter only for models with adapters", () => {
		expect(read(LORA, { messages: hello, lora: "cf-public-x" }).input.lora).toBe("cf-public-x");
		for (const model of [LLAMA, SCOUT, MISTRAL, KIMI])
			expect(() => read(model, { prompt: "a", lora: "x" })).toThrowError(
				`5005: The model ${model.id} does not support LoRa inference`,
			);
	});

	it("reads a JSON format from a bare schema, OpenAI's wrapper, or guided_json", () => {
		const schema = { type: "object", properties: { a: { type: "number" } } };
		const bare = { type: "json_schema", json_schema: { name: "response", schema } };
		const format = (model: typeof LLAMA, fields: object) =>
			read(model, { messages: hello, ...fields }).input.response_format;
		expect(format(LLAMA, { response_format: { type: "json_schema", json_schema: schema } })).toEqual(bare);
		const wrapped = { name: "sum", schema, strict: true };
		expect(format(LLAMA, { response_format: { type: "json_schema", json_schema: wrapped } })).toEqual({
			type: "json_schema",
			json_schema: wrapped,
		});
		const named = { name: "response", type: "object" };
		expect(format(LLAMA, { response_format: { type: "json_schema", json_schema: named } })).toEqual({
			type: "json_schema",
			json_schema: { name: "response", schema: named },
		});
		expect(format(LLAMA, { response_format: { type: "json_object" } })).toEqual({ type: "json_object" });
		expect(format(MISTRAL, { guided_json: schema })).toEqual(bare);
		expect(format(SCOUT, { guided_json: schema })).toEqual(bare);
		// Not fields of these models.
		expect(format(LLAMA, { guided_json: schema })).toBeUndefined();
		// Their own schemas lack it.
		for (const model of [VISION, MISTRAL, chatModel("qwq-32b")]) {
			const sent = { messages: hello, response_format: { type: "json_object" } };
			expect(read(model, sent).input.response_format).toEqual({ type: "json_object" });
			expect(read(model, sent, nativeDialect(model), true).input.response_format).toBeUndefined();
		}
		expect(() => format(LLAMA, { response_format: { type: "json_schema" } })).toThrowError(
			"8001: Invalid input: response_format.json_schema must be a JSON Schema",
		);
		expect(() => format(LLAMA, { response_format: { type: "xml" } })).toThrowError("5006: ");
	});

	it("reads tools in both forms, and omits a choice without tools", () => {
		const parameters = { type: "object", properties: { city: { type: "string" } } };
		const flat = { name: "weather", description: "Tells the weather", parameters };
		const expected = [{ type: "function", function: flat }];
		expect(read(LLAMA_70B, { messages: hello, tools: [flat] }).input.tools).toEqual(expected);
		expect(
			read(LLAMA_70B, { messages: hello, tools: expected, tool_choice: "required" }).input,
		).toMatchObject({
			tools: expected,
			tool_choice: "required",
		});
		const none = read(LLAMA_70B, { messages: hello, tools: [], tool_choice: "auto" }).input;
		expect(none).not.toHaveProperty("tools");
		expect(none).not.toHaveProperty("tool_choice");
	});
});

describe("the schema of a native model", () => {
	it("is built once per model", () => {
		const { reader } = nativeDialect(LLAMA);
		expect(reader.schema(LLAMA)).toBe(reader.schema(LLAMA));
		expect(reader.schema(LLAMA)).not.toBe(reader.schema(LORA));
	});

	it("has ranges, defaults and oneOf", () => {
		const { input } = modelSchema(LLAMA) as {
			input: { oneOf: { properties: object; required: string[] }[] };
		};
		expect(input.oneOf.map(({ required }) => required)).toEqual([["prompt"], ["messages"]]);
		expect(input.oneOf[1]?.properties).toMatchObject({
			max_tokens: { default: 256, type: "integer" },
			temperature: { default: 0.6, minimum: 0, maximum: 5 },
			top_p: { minimum: 0.001, maximum: 1 },
			tools: { type: "array" },
		});
		expect(Object.keys(input.oneOf[0]?.properties ?? {})).not.toContain("guided_json");
		// Without zod's bounds of safe integers.
		expect(input.oneOf[0]?.properties).toMatchObject({ max_tokens: { default: 256, type: "integer" } });
		expect(JSON.stringify(input)).not.toContain("9007199254740991");
	});

	it("has the schemas of tools and functions", () => {
		const { input } = modelSchema(LLAMA_70B) as { input: { oneOf: { properties: object }[] } };
		expect(input.oneOf[1]?.properties).toMatchObject({
			tools: {
				type: "array",
				items: {
					oneOf: [
						{
							required: ["name", "description", "parameters"],
							properties: {
								parameters: {
									required: ["type", "properties"],
									properties: {
										properties: { additionalProperties: { required: ["type", "description"] } },
									},
								},
							},
						},
						{ required: ["type", "function"] },
					],
				},
			},
			functions: { items: { required: ["name", "code"] } },
		});
	});

	it("exists for every chat shape", () => {
		for (const model of [LLAMA, LLAMA_70B, LEGACY, MISTRAL, SCOUT, VISION, QWEN, KIMI])
			expect(modelSchema(model).input).toHaveProperty("oneOf");
	});
});
