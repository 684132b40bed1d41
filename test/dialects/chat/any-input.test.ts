/** For any JSON a chat reader returns a valid input for an engine or throws a client error. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { openaiCompletions } from "../../../src/dialects/chat/completions.ts";
import { openaiChat } from "../../../src/dialects/chat/openai-route.ts";
import { nativeDialect } from "../../../src/dialects/native.ts";
import { GUARD, KIMI, LEGACY, LLAMA, MISTRAL, read, SCOUT, VISION } from "./chat.ts";

const any = fc.jsonValue({ maxDepth: 2 });
const oneOf = (...values: unknown[]) => fc.oneof(...values.map((value) => fc.constant(value)), any);
const call = fc.record(
	{
		id: oneOf("a", ""),
		name: oneOf("f"),
		arguments: oneOf("{}", {}),
		function: oneOf({ name: "f", arguments: {} }),
	},
	{ requiredKeys: [] },
);
const part = fc.record(
	{
		type: oneOf("text", "image_url", "file"),
		text: oneOf("t"),
		image_url: oneOf({ url: "data:image/png;base64,AA" }),
	},
	{ requiredKeys: [] },
);
const message = fc.record(
	{
		role: oneOf("user", "assistant", "tool", "system", "function"),
		content: fc.oneof(
			oneOf("t", null, '{"name":"f","arguments":{}}'),
			fc.array(part, { maxLength: 2 }),
			part,
		),
		tool_calls: fc.oneof(any, fc.array(fc.oneof(call, any), { maxLength: 2 })),
		tool_call_id: oneOf("a", "000000001"),
		name: oneOf("f"),
	},
	{ requiredKeys: ["role"] },
);
const body = fc.record(
	{
		messages: fc.oneof(any, fc.array(message, { maxLength: 4 })),
		prompt: oneOf("t"),
		raw: oneOf(true),
		image: oneOf([255, 216, 255, 224], "/9j/4A=="),
		tools: fc.oneof(any, fc.constant([{ name: "f" }])),
		tool_choice: oneOf("auto", "required", { type: "function", function: { name: "f" } }),
		response_format: oneOf({ type: "json_object" }, { type: "json_schema", json_schema: {} }),
		max_tokens: oneOf(5, -1),
		stop: oneOf("a", ["a"]),
		lora: oneOf("l"),
	},
	{ requiredKeys: [] },
);

describe.each([
	["text parts", LLAMA, nativeDialect(LLAMA)],
	["text", LEGACY, nativeDialect(LEGACY)],
	["media", MISTRAL, nativeDialect(MISTRAL)],
	["media and JSON mode", SCOUT, nativeDialect(SCOUT)],
	["an image", VISION, nativeDialect(VISION)],
	["Llama Guard", GUARD, nativeDialect(GUARD)],
	["OpenAI's form", KIMI, nativeDialect(KIMI)],
	["the OpenAI route", LLAMA, openaiChat],
	["completions", LLAMA, openaiCompletions],
])("a reader of %s", (_, model, dialect) => {
	it("returns a valid input or a client error for any JSON", () => {
		fc.assert(
			fc.property(fc.oneof(any, body), (sent) => {
				try {
					const { input } = read(model, sent, dialect);
					expect(input.prompt !== undefined || input.messages.length > 0).toBe(true);
					for (const { role, content, tool_calls, tool_call_id } of input.messages) {
						expect(content !== null || (role === "assistant" && tool_calls !== undefined)).toBe(true);
						expect(typeof tool_call_id).toBe(role === "tool" ? "string" : "undefined");
						for (const { id, function: called } of tool_calls ?? [])
							expect([typeof id, typeof called.name, typeof called.arguments]).toEqual(
								Array(3).fill("string"),
							);
					}
				} catch (error) {
					if (!(error instanceof AiError)) throw error;
					expect(error.status).toBeLessThan(500);
				}
			}),
			{ numRuns: 500 },
		);
	});
});
