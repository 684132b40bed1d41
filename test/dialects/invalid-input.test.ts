import { describe, expect, it } from "vitest";
import * as z from "zod";
import { AiError } from "../../src/core/errors.ts";
import {
	asInputFailure,
	badInput,
	invalidInput,
	parseElement,
	pointerTo,
} from "../../src/dialects/invalid-input.ts";

const Part = z.discriminatedUnion("type", [
	z.object({ type: z.literal("text"), text: z.string() }),
	z.object({ type: z.literal("list"), items: z.array(z.number()) }),
]);

describe("parseElement", () => {
	it("returns the parsed element", () => {
		const element = { type: "text", text: "a" };
		expect(parseElement(Part, element, "input[0]")).toEqual(element);
	});

	it.each([
		[{ type: "list", items: [1, "a"] }, "input[0].items[1]: expected a number, found text"],
		[{ type: "image" }, 'input[0].type: "image" is not supported'],
		[{}, 'input[0].type: "undefined" is not supported'],
		[{ type: "x".repeat(100) }, `input[0].type: "${"x".repeat(64)}" is not supported`],
	])("names the place of the error: %j", (element, sentence) => {
		expect(() => parseElement(Part, element, "input[0]")).toThrowError(`8001: Invalid input: ${sentence}`);
	});
});

describe("a value of a union without a message of its own", () => {
	const Text = z.object({ type: z.literal("text"), text: z.string() });
	const Message = z.discriminatedUnion("type", [
		z.object({ type: z.literal("message"), content: z.union([z.string().min(1), z.array(Text)]) }),
		z.object({ type: z.literal("other"), content: z.string() }),
	]);
	it.each([
		[5, "content: expected text or a list, found a number"],
		["", "content: expected one or more characters, found none"],
		[[{ type: "text", text: 5 }], "content[0].text: expected text, found a number"],
		[["x"], "content[0]: expected an object, found text"],
	])("has the sentence of the branch that is meant: %j", (content, sentence) => {
		const message = { type: "message", content };
		expect(() => parseElement(Message, message, "input[0]")).toThrowError(
			`8001: Invalid input: input[0].${sentence}`,
		);
	});
});

describe("asInputFailure", () => {
	it.each([badInput("'a' is missing"), invalidInput("'a' is missing")])(
		"replaces the code of %s",
		(refusal) => {
			expect(asInputFailure("badChatFormat", refusal)).toMatchObject({
				code: 2019,
				description: "Chat completion bad format: 'a' is missing",
			});
		},
	);

	it.each([new TypeError("a bug"), new AiError("executionFailed"), "text"])(
		"returns %s unchanged",
		(thrown) => {
			expect(asInputFailure("badChatFormat", thrown)).toBe(thrown);
		},
	);
});

it("converts a place to a JSON pointer", () => {
	expect(pointerTo("input[2].content[0]")).toBe("/input/2/content/0");
});
