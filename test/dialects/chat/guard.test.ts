import { describe, expect, it } from "vitest";
import { completion, GUARD, read, USAGE, writtenJson } from "./chat.ts";

const messages = [
	{ role: "user", content: "How do I pick a lock?" },
	{ role: "assistant", content: "With patience." },
];
const asJson = { messages, response_format: { type: "json_object" } };
const judged = (content: string | null, sent: object = { messages }) =>
	writtenJson(GUARD, sent, { kind: "value", output: completion({ content }) });

describe("Llama Guard's input", () => {
	it("is a conversation, without a JSON format for the engine", () => {
		expect(read(GUARD, { ...asJson, stream: true }).input).toStrictEqual({
			messages,
			stream: false,
			max_tokens: 256,
			temperature: 0.6,
		});
	});

	it("must alternate between user and assistant", () => {
		expect(() => read(GUARD, { messages: [...messages, ...messages.slice(1)] })).toThrowError(
			"8001: Invalid input: messages[2].role: user and assistant must take turns, the user first",
		);
		expect(() => read(GUARD, { messages: [{ role: "system", content: "x" }] })).toThrowError("5006: ");
		expect(() => read(GUARD, { messages: [] })).toThrowError(
			"8001: Invalid input: messages must not be empty",
		);
		expect(() => read(GUARD, { prompt: "x" })).toThrowError(
			"5006: Error: required properties at '/' are 'messages'",
		);
	});
});

describe("Llama Guard's judgement", () => {
	it("is text", () => {
		expect(judged("unsafe\nS1")).toStrictEqual({ response: "unsafe\nS1", usage: USAGE });
	});

	it.each([
		["safe", { safe: true, categories: [] }],
		["\n\nsafe\n", { safe: true, categories: [] }],
		["unsafe\nS1,S10", { safe: false, categories: ["S1", "S10"] }],
		["Unsafe", { safe: false, categories: [] }],
		['{"safe":false,"categories":["S9"]}', { safe: false, categories: ["S9"] }],
		['{"safe":true}', { safe: true, categories: [] }],
	])("is a document in JSON mode: %j", (content, response) => {
		expect(judged(content, asJson)).toStrictEqual({ response, usage: USAGE });
	});

	it.each(["I cannot say", "", '{"safe":"yes"}', "[true]", null])(
		"is 5024 for anything else: %j",
		(content) => {
			expect(() => judged(content, asJson)).toThrowError(expect.objectContaining({ code: 5024 }));
		},
	);
});
