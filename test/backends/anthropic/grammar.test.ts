import { describe, expect, it } from "vitest";
import { grammarOf } from "../../../src/backends/anthropic/grammar.ts";

const object = (properties: Record<string, unknown>, more: object = {}) => ({
	type: "object",
	properties,
	...more,
});
const closed = (properties: Record<string, unknown>, more: object = {}) => ({
	...object(properties, more),
	additionalProperties: false,
});
const TEXT = { type: "string" };

describe("grammarOf", () => {
	it("closes objects at every depth", () => {
		expect(
			grammarOf(
				object(
					{
						a: object({ b: TEXT }),
						c: { type: "array", items: object({ d: TEXT }) },
						e: { anyOf: [object({ f: TEXT })] },
					},
					{ required: ["a"], additionalProperties: true },
				),
			),
		).toEqual(
			closed(
				{
					a: closed({ b: TEXT }),
					c: { type: "array", items: closed({ d: TEXT }) },
					e: { anyOf: [closed({ f: TEXT })] },
				},
				{ required: ["a"] },
			),
		);
	});

	it("moves bounds to the description", () => {
		const bounded = object({
			a: { type: "integer", minimum: 1, maximum: 5, description: "A number." },
			b: { type: "string", format: "uuid", pattern: "^a" },
			c: { type: "string", format: "phone" },
			d: { type: "array", items: TEXT, minItems: 1, maxItems: 3 },
			e: { type: "array", items: TEXT, minItems: 2 },
		});
		expect(grammarOf(bounded)).toEqual(
			closed({
				a: { type: "integer", description: "A number. (minimum: 1, maximum: 5)" },
				b: { type: "string", format: "uuid", description: '(pattern: "^a")' },
				c: { type: "string", description: "(format: phone)" },
				d: { type: "array", items: TEXT, minItems: 1, description: "(maxItems: 3)" },
				e: { type: "array", items: TEXT, description: "(minItems: 2)" },
			}),
		);
	});

	it("keeps references and removes keywords without meaning", () => {
		expect(
			grammarOf({
				$schema: "https://json-schema.org/draft/2020-12/schema",
				...object({
					a: { $ref: "#/$defs/A" },
					b: { $ref: "#/$defs/A" },
					c: { oneOf: [TEXT, { type: "null" }] },
				}),
				$defs: { A: object({ d: { enum: ["x", 1] } }) },
			}),
		).toEqual({
			...closed({
				a: { $ref: "#/$defs/A" },
				b: { $ref: "#/$defs/A" },
				c: { anyOf: [TEXT, { type: "null" }] },
			}),
			$defs: { A: closed({ d: { enum: ["x", 1] } }) },
		});
	});

	it("keeps `nullable: false` out, and moves the other format and item counts to the description", () => {
		expect(
			grammarOf(
				object({
					a: { type: "string", nullable: false },
					b: { type: "array", items: TEXT, minItems: 0 },
					c: { type: ["object", "null"], properties: { d: TEXT } },
				}),
			),
		).toEqual(
			closed({
				a: TEXT,
				b: { type: "array", items: TEXT, minItems: 0 },
				c: { type: ["object", "null"], properties: { d: TEXT }, additionalProperties: false },
			}),
		);
	});

	it("follows references in definitions of both names, and only where they are used", () => {
		const definitions = { A: object({ b: TEXT }), Unused: object({ c: { $ref: "#/definitions/Unused" } }) };
		expect(grammarOf({ ...object({ a: { $ref: "#/definitions/A" } }), definitions })).toEqual({
			...closed({ a: { $ref: "#/definitions/A" } }),
			definitions: { A: closed({ b: TEXT }), Unused: closed({ c: { $ref: "#/definitions/Unused" } }) },
		});
		expect(grammarOf(object({ a: { $ref: "#/$defs/Missing" } }))).toEqual(
			closed({ a: { $ref: "#/$defs/Missing" } }),
		);
	});

	it("follows no text that only reads like a reference", () => {
		const definitions = { A: object({ b: { const: "#/$defs/A" } }) };
		expect(grammarOf({ ...object({ a: { $ref: "#/$defs/A" } }), $defs: definitions })).toEqual({
			...closed({ a: { $ref: "#/$defs/A" } }),
			$defs: { A: closed({ b: { const: "#/$defs/A" } }) },
		});
	});

	it.each([
		["a value that may be null by another keyword", object({ a: { type: "string", nullable: true } })],
		["properties that are no object", object({ a: { type: "object", properties: [TEXT] } })],
		["alternatives that are no list", object({ a: { anyOf: TEXT } })],
		["an alternative that cannot be converted", object({ a: { anyOf: [TEXT, true] } })],
		["a reference that is no text", object({ a: { $ref: 1 } })],
		["an object without fields", object({ a: object({}) })],
		["no object", { type: "array", items: TEXT }],
		["nothing", undefined],
		["true", true],
		["an object of any fields", { type: "object" }],
		["a map", object({ a: { type: "object", additionalProperties: TEXT } })],
		["an object that is also a map", object({ a: TEXT }, { additionalProperties: TEXT })],
		["a schema that says true", object({ a: true })],
		["one that excludes", object({ a: { not: TEXT } })],
		["a condition", object({ a: TEXT }, { if: {}, else: {} })],
		["a tuple", object({ a: { type: "array", prefixItems: [TEXT] } })],
		["a reference elsewhere", object({ a: { $ref: "https://a.test/b" } })],
		["the root within itself", object({ a: { $ref: "#" } })],
		[
			"a definition within itself",
			{ ...object({ a: { $ref: "#/$defs/A" } }), $defs: { A: object({ b: { $ref: "#/$defs/A" } }) } },
		],
		[
			"a definition within itself, in a property with the name of a keyword",
			{ ...object({ a: { $ref: "#/$defs/A" } }), $defs: { A: object({ $ref: { $ref: "#/$defs/A" } }) } },
		],
		[
			"two within each other",
			{
				...object({ a: { $ref: "#/$defs/A" } }),
				$defs: {
					A: object({ b: { $ref: "#/$defs/B" } }),
					B: object({ c: { anyOf: [{ $ref: "#/$defs/A" }] } }),
				},
			},
		],
	])("rejects %s", (_, schema) => {
		expect(grammarOf(schema)).toBeUndefined();
	});
});
