import { describe, expect, it } from "vitest";
import { contractOf } from "../../../src/dialects/decisions/decisions.ts";
import { stateOfContents, stateOfItems } from "../../../src/dialects/decisions/input.ts";

describe("the contract of a body", () => {
	const list = [{ type: "predicate", instructions: "x" }];
	const map = { a: { type: "noul", instructions: "x" } };
	it.each([
		[{ questions: list, input: "x" }, "openai"],
		[{ questions: list, state: "x" }, "openai"],
		[{ questions: map, input: "x" }, "google"],
		[{ questions: map, state: "x" }, "systemone"],
		[{ questions: map, state: "x", input: "x" }, "systemone"],
		[{ questions: map }, "systemone"],
	])("of %j is %s on every route", (body, contract) => {
		for (const route of ["openai", "google", "systemone"] as const)
			expect(contractOf(body, route)).toBe(contract);
	});

	it.each([undefined, null, "x", [], {}, { questions: "x" }])("of %j is that of the route", (body) => {
		for (const route of ["openai", "google", "systemone"] as const)
			expect(contractOf(body, route)).toBe(route);
	});
});

const IMAGE = "data:image/png;base64,AAAA";

describe("the state of OpenAI's items", () => {
	it.each([
		["The parcel is late", "The parcel is late", []],
		[[{ role: "user", content: "late" }], "late", []],
		[[{ role: "user", content: [{ type: "input_json", data: { days: 3 } }] }], { days: 3 }, []],
		[[{ role: "developer", content: "Be strict" }], [{ role: "developer", content: "Be strict" }], []],
		[
			[{ role: "user", content: [{ type: "input_image", image_url: IMAGE }] }],
			{ image: 1 },
			[{ url: IMAGE, at: "input[0].content[0]" }],
		],
		[
			[
				{ type: "function_call", call_id: "c", name: "read", arguments: '{"path":"a"}' },
				{ type: "function_call_output", call_id: "c", output: [{ type: "input_text", text: "18" }] },
			],
			[
				{ type: "function_call", call_id: "c", name: "read", arguments: { path: "a" } },
				{ type: "function_call_output", call_id: "c", output: "18" },
			],
			[],
		],
	])("of %j", (input, state, images) => {
		expect(stateOfItems(input as Parameters<typeof stateOfItems>[0])).toEqual({ state, images });
	});
});

describe("the state of Google's contents", () => {
	it.each([
		["late", "late", []],
		[{ type: "text", text: "late" }, "late", []],
		[
			[
				{ type: "text", text: "late" },
				{ type: "image", data: "AAAA", mime_type: "image/png" },
			],
			["late", { image: 1 }],
			[{ url: IMAGE, at: "input[1]" }],
		],
	])("of %j", (input, state, images) => {
		expect(stateOfContents(input)).toEqual({ state, images });
	});

	it.each([
		[{ type: "audio" }, "input.type"],
		[["late"], "input[0]: expected a content"],
		[[{ type: "image", uri: "https://example.com/a.png" }], "input[0].uri"],
	])("refuses %j", (input, message) => {
		expect(() => stateOfContents(input)).toThrow(message);
	});
});
