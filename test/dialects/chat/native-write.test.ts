import { describe, expect, it } from "vitest";
import { modelSchema } from "../../../src/dialects/schema.ts";
import {
	completion,
	LEGACY,
	LLAMA,
	LLAMA_70B,
	R1,
	SCOUT,
	toolCall,
	USAGE,
	VISION,
	writtenJson,
} from "./chat.ts";

const prompt = { prompt: "Hello" };
const value = (model: typeof LLAMA, message: object, sent: object = prompt, overrides: object = {}) =>
	writtenJson(model, sent, { kind: "value", output: completion(message, overrides) });

describe("a native reply", () => {
	it("has the text, an empty list of calls and the usage, in this order", () => {
		expect(JSON.stringify(value(LLAMA, { content: "Hi" }))).toBe(
			'{"response":"Hi","tool_calls":[],"usage":{"prompt_tokens":10,"completion_tokens":50,"total_tokens":60}}',
		);
		expect(value(VISION, { content: "Hi" })).toStrictEqual({ response: "Hi", tool_calls: [], usage: USAGE });
		expect(value(LEGACY, { content: "Hi" })).toStrictEqual({ response: "Hi", usage: USAGE });
	});

	it("keeps the engine's counts and adds none", () => {
		const usage = { ...USAGE, prompt_tokens_details: { cached_tokens: 3 }, completion_tokens_details: null };
		expect(value(LLAMA, { content: "" }, prompt, { usage })).toStrictEqual({
			response: "",
			tool_calls: [],
			usage: { ...USAGE, prompt_tokens_details: { cached_tokens: 3 } },
		});
		expect(value(LLAMA, { content: "" }, prompt, { usage: null })).toStrictEqual({
			response: "",
			tool_calls: [],
		});
	});

	it("has flat calls, with arguments as objects", () => {
		const tool_calls = [
			toolCall("add", '{"a":1,"b":[2]}'),
			toolCall("now", ""),
			toolCall("odd", "[1]"),
			toolCall("bad", "{"),
		];
		expect(value(LLAMA_70B, { tool_calls })).toStrictEqual({
			response: null,
			tool_calls: [
				{ name: "add", arguments: { a: 1, b: [2] } },
				{ name: "now", arguments: {} },
				{ name: "odd", arguments: "[1]" },
				{ name: "bad", arguments: "{" },
			],
			usage: USAGE,
		});
		expect(value(LLAMA_70B, { content: "Wait", tool_calls: [toolCall("now", "{}")] })).toMatchObject({
			response: "Wait",
		});
		expect(value(LEGACY, { tool_calls: [toolCall("now", "{}")] })).toMatchObject({
			tool_calls: [{ name: "now", arguments: {} }],
		});
	});

	it("has OpenAI's calls and no response for Llama 4 Scout", () => {
		const tool_calls = [toolCall("add", '{"a":1}', "chatcmpl-tool-1")];
		expect(value(SCOUT, { tool_calls })).toStrictEqual({ tool_calls, usage: USAGE });
		expect(value(SCOUT, { content: "Hi", tool_calls: [] })).toStrictEqual({
			response: "Hi",
			tool_calls: [],
			usage: USAGE,
		});
	});

	it("has calls in the form of the output shape, for any input shape", () => {
		const tool_calls = [toolCall("add", '{"a":1}', "chatcmpl-tool-1")];
		const flat = [{ name: "add", arguments: { a: 1 } }];
		expect(value({ ...SCOUT, output: "text-response" }, { tool_calls })).toMatchObject({ tool_calls: flat });
		expect(value({ ...LLAMA, output: "text-response-openai-tools" }, { tool_calls })).toStrictEqual({
			tool_calls,
			usage: USAGE,
		});
	});

	it("has reasoning in its text only for reasoning models", () => {
		const reasoned = { reasoning_content: "Hm", reasoning: "Hm", content: "Yes" };
		expect(value(R1, reasoned)).toMatchObject({ response: "<think>\nHm\n</think>\n\nYes" });
		expect(value(R1, { reasoning: "Hm" })).toMatchObject({ response: "<think>\nHm" });
		expect(value(LLAMA, reasoned)).toMatchObject({ response: "Yes" });
		expect(value(LLAMA, { reasoning: "Hm" })).toMatchObject({ response: "" });
	});

	it("has the engine's refusal as its text", () => {
		expect(value(LLAMA, { refusal: "I cannot." })).toMatchObject({ response: "I cannot." });
	});

	it("fails without a choice", () => {
		expect(() => value(LLAMA, {}, prompt, { choices: [] })).toThrowError(
			"5001: The engine answered without a choice",
		);
	});
});

describe("a native reply in JSON mode", () => {
	const schema = { type: "object", properties: { a: { type: "integer" } }, required: ["a"] };
	const bySchema = (json_schema: object) => ({
		...prompt,
		response_format: { type: "json_schema", json_schema },
	});
	const byObject = { ...prompt, response_format: { type: "json_object" } };

	it("is the document", () => {
		expect(value(LLAMA, { content: ' {"a": 1}\n' }, bySchema(schema))).toStrictEqual({
			response: { a: 1 },
			tool_calls: [],
			usage: USAGE,
		});
		expect(value(LLAMA, { content: "[1,2]" }, bySchema({ type: "array" }))).toMatchObject({
			response: [1, 2],
		});
		expect(value(LLAMA, { content: '{"b":null}' }, byObject)).toMatchObject({ response: { b: null } });
		expect(value(LLAMA, { content: "7" }, bySchema({ name: "n", schema: { type: "number" } }))).toMatchObject(
			{ response: 7 },
		);
		const guided = { prompt: "x", guided_json: schema };
		expect(value(SCOUT, { content: '{"a":1}' }, guided)).toMatchObject({ response: { a: 1 } });
	});

	it("has no reasoning", () => {
		const reasoned = { reasoning: "Hm", content: '{"a":1}' };
		expect(value(R1, reasoned, bySchema(schema))).toMatchObject({ response: { a: 1 } });
	});

	it("has no document if there is a call", () => {
		const sent = { messages: [{ role: "user", content: "x" }], response_format: { type: "json_object" } };
		expect(value(LLAMA_70B, { tool_calls: [toolCall("now", "{}")] }, sent)).toMatchObject({ response: null });
	});

	it.each([
		["no JSON", "Sure! {", schema],
		["nothing", "", schema],
		["another document", '{"a":"1"}', schema],
		["a missing property", "{}", schema],
		["a schema that cannot be used", '{"a":1}', { $ref: "#/$defs/missing" }],
		["a pattern that is none", '"a"', { type: "string", pattern: "(" }],
		[
			"a tuple of an older draft",
			'["a"]',
			{ $schema: "http://json-schema.org/draft-07/schema#", items: [{ type: "number" }] },
		],
	])("is 5024 for %s", (_, content, json_schema) => {
		expect(() => value(LLAMA, { content }, bySchema(json_schema))).toThrowError(
			"5024: JSON Model couldn't be met",
		);
	});

	it.each(["[]", "5", "null", '"text"'])("is 5024 for %s if the format is json_object", (content) => {
		expect(() => value(LLAMA, { content }, byObject)).toThrowError(expect.objectContaining({ code: 5024 }));
	});

	it("does not change the caller's schema", () => {
		const frozen = Object.freeze({
			type: "object",
			properties: Object.freeze({ a: Object.freeze({ type: "integer" }) }),
		});
		expect(value(LLAMA, { content: '{"a":1}' }, bySchema(frozen))).toMatchObject({ response: { a: 1 } });
		expect(frozen).toEqual({ type: "object", properties: { a: { type: "integer" } } });
	});
});

describe("the schema of a native reply", () => {
	it("has its fields", () => {
		expect(modelSchema(LLAMA).output).toMatchObject({
			contentType: "application/json",
			properties: { response: {}, tool_calls: { type: "array" }, usage: { type: "object" } },
		});
	});
});
