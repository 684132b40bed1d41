import { describe, expect, it } from "vitest";
import { positiveTopK, textOf } from "../../../src/tasks/text-generation/types.ts";

it.each([
	[undefined, undefined],
	[-1, undefined],
	[0, undefined],
	[1, 1],
	[40, 40],
])("positiveTopK of %s is %s", (top_k, expected) => {
	expect(positiveTopK({ ...(top_k !== undefined && { top_k }) })).toBe(expected);
});

describe("textOf", () => {
	it("writes one line per text part and omits other parts", () => {
		expect(
			textOf([
				{ type: "text", text: "My name is Bob." },
				{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
				{ type: "text", text: "" },
				{ type: "text", text: "What is my name?" },
			]),
		).toBe("My name is Bob.\nWhat is my name?");
		expect(textOf("Hi")).toBe("Hi");
		expect(textOf(null)).toBe("");
	});
});
