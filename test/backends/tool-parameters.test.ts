import { describe, expect, it } from "vitest";
import { objectSchema } from "../../src/backends/tool-parameters.ts";

const TEXT = { type: "string" };

describe("the schema of a tool's arguments", () => {
	it("is unchanged if it is an object with properties", () => {
		const schema = { type: "object", properties: { city: TEXT }, required: ["city"] };
		expect(objectSchema(schema)).toBe(schema);
	});

	it.each([undefined, {}, { type: "object" }, { type: ["object", "null"] }, { $schema: "x", type: null }])(
		"is an object with properties: %j",
		(schema) => expect(objectSchema(schema)).toMatchObject({ type: "object", properties: {} }),
	);

	it.each(["anyOf", "oneOf"])("has the properties of all branches of %s", (union) => {
		const schema = {
			[union]: [
				{ type: "object", properties: { mode: { const: "city" }, city: TEXT }, required: ["mode", "city"] },
				{ $ref: "#/$defs/Zip" },
				{ type: "null" },
			],
			$defs: {
				Zip: { type: "object", properties: { mode: { const: "zip" }, zip: TEXT }, required: ["mode"] },
			},
		};
		expect(objectSchema(schema)).toEqual({
			type: "object",
			properties: { mode: { anyOf: [{ const: "city" }, { const: "zip" }] }, city: TEXT, zip: TEXT },
			required: ["mode"],
			$defs: schema.$defs,
		});
	});

	it("requires what one of allOf requires", () => {
		const schema = {
			type: "object",
			properties: { a: TEXT },
			required: ["a"],
			allOf: [{ properties: { b: TEXT }, required: ["b"] }, { properties: { c: TEXT } }],
		};
		expect(objectSchema(schema)).toEqual({
			type: "object",
			properties: { a: TEXT, b: TEXT, c: TEXT },
			required: ["a", "b"],
		});
	});
});
