import { describe, expect, it } from "vitest";
import { readContent, readReasoning } from "../../../../src/backends/openai/reply/texts.ts";

describe("the content of a message", () => {
	it.each<[string, unknown, object]>([
		["a text", "Hello", { content: "Hello", reasoning: "" }],
		["a number, as JSON", 42, { content: "42", reasoning: "" }],
		["a document of JSON mode", { city: "Paris", text: "x" }, { content: '{"city":"Paris","text":"x"}' }],
		["one part", { type: "text", text: "Hello" }, { content: "Hello" }],
		["a text with annotations", { text: "Hello", annotations: [] }, { content: "Hello" }],
		["an empty part, as JSON", { text: "" }, { content: '{"text":""}' }],
		[
			"parts of each kind",
			["One ", { type: "thinking", thinking: [{ text: "Hm" }] }, { type: "text", text: "two" }, 3],
			{ content: "One two", reasoning: "Hm" },
		],
		["a refusal", [{ type: "refusal", refusal: "No" }], { content: "", refusal: "No" }],
	])("is read from %s", (_, sent, read) => {
		expect(readContent(sent)).toMatchObject(read);
	});

	it("is absent for null", () => {
		expect(readContent(null)).toEqual({ reasoning: "", refusal: "" });
	});
});

describe("the reasoning of a message", () => {
	it.each<[string, Record<string, unknown>, string]>([
		["the most exact field", { reasoning: "two", reasoning_content: "one" }, "one"],
		["a list of details", { reasoning: "", reasoning_details: [{ summary: "a" }, { text: "b" }] }, "ab"],
		["none", { reasoning: 7 }, ""],
	])("is read from %s", (_, message, read) => {
		expect(readReasoning(message)).toBe(read);
	});
});
