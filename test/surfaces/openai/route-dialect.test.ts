import { describe, expect, it } from "vitest";
import { requireModel } from "../../../src/dialects/route-dialect.ts";

describe("a body with a model", () => {
	it("is returned itself, not as a copy", () => {
		const body = { messages: [], model: "m" };
		expect(requireModel(body)).toBe(body);
	});

	it.each([
		["nothing", undefined],
		["null", null],
		["a text", "m"],
		["a list", [{ model: "m" }]],
		["no model", {}],
		["an empty model", { model: "" }],
		["a number for a model", { model: 5 }],
	])("%s is refused as bad input", (_, body) => {
		expect(() => requireModel(body)).toThrow(expect.objectContaining({ key: "badInput" }));
	});
});
