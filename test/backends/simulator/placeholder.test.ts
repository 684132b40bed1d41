import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SchemaDocument } from "../../../src/backends/simulator/json-schema.ts";
import { placeholder } from "../../../src/backends/simulator/placeholder.ts";
import { callsOf, contentOf, tool } from "./fixture.ts";

const made = (schema: unknown): unknown => {
	const found = placeholder(new SchemaDocument(schema));
	expect(new Validator(structuredClone(schema) as object, "2020-12").validate(found?.value).errors).toEqual(
		[],
	);
	return found?.value;
};

describe("a placeholder", () => {
	it.each<[unknown, unknown]>([
		[{ const: { a: [1] } }, { a: [1] }],
		[{ enum: ["x", "y"] }, "x"],
		[{ type: "string", default: "d" }, "simulated"],
		[{ type: "string", minLength: 12 }, "simulated..."],
		[{ type: "string", maxLength: 3 }, "sim"],
		[{ type: "string", pattern: "^[A-Z]{3}-\\d{4}$" }, "AAA-0000"],
		[{ type: "string", format: "uuid" }, "00000000-0000-4000-8000-000000000000"],
		[{ type: "string", format: "date" }, "2000-01-01"],
		[{ type: "string", format: "email" }, "simulated@example.com"],
		[{ type: "string", format: "uri" }, "https://example.com/simulated"],
		[{ type: "string", format: "date-time" }, "2000-01-01T00:00:00Z"],
		[{ type: "integer", minimum: 3 }, 3],
		[{ type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
		[{ type: "number", minimum: 0.25, multipleOf: 0.1 }, 0.3],
		[{ type: "integer", maximum: -4, multipleOf: 3 }, -6],
		[{ type: "boolean" }, false],
		[{ type: ["string", "null"] }, "simulated"],
		[{ anyOf: [{ type: "integer" }, { type: "null" }] }, 0],
		[{ type: "array", items: { type: "integer" }, minItems: 3, uniqueItems: true }, [0, 1, 2]],
		[{ type: "array", items: { enum: ["a", "b"] }, minItems: 2, uniqueItems: true }, ["a", "b"]],
		[
			{ type: "array", prefixItems: [{ type: "integer" }, { type: "boolean" }], items: false, minItems: 2 },
			[0, false],
		],
		[{ type: "array", contains: { const: 7 }, items: { type: "integer" } }, [7]],
		[
			{ type: "object", minProperties: 2 },
			{ simulated1: "simulated simulated1", simulated2: "simulated simulated2" },
		],
		[{ oneOf: [{ type: "integer" }, { type: "number" }] }, 0.5],
		[
			{
				allOf: [
					{ type: "integer", minimum: 2 },
					{ maximum: 9, multipleOf: 4 },
				],
			},
			4,
		],
		[{ type: "string", not: { const: "simulated" } }, "0"],
		[
			{
				if: { properties: { a: { const: 1 } } },
				// biome-ignore lint/suspicious/noThenProperty: JSON Schema's word
				then: { required: ["b"] },
				type: "object",
				properties: { a: { const: 1 }, b: { const: 2 } },
				required: ["a"],
			},
			{ a: 1, b: 2 },
		],
		[{ $defs: { "a/b": { const: 5 } }, $ref: "#/$defs/a~1b" }, 5],
		[{ $defs: { x: { $anchor: "here", const: 6 } }, $ref: "#here" }, 6],
		[
			{
				type: "object",
				properties: { a: { type: "string" }, b: { type: "string" } },
				required: ["a"],
				dependentRequired: { a: ["z"] },
			},
			{ a: "simulated a", z: "simulated z" },
		],
		[true, "simulated"],
		[{}, "simulated"],
	])("%j", (schema, value) => expect(made(schema)).toEqual(value));

	it("keeps names of Object's prototype", () => {
		const schema = {
			type: "object",
			properties: { constructor: { const: 1 }, toString: { const: 2 } },
			required: ["constructor", "toString"],
		};
		expect(JSON.stringify(made(schema))).toBe('{"constructor":1,"toString":2}');
	});
});

it("returns at once for circular references", () => {
	const names = Array.from({ length: 12 }, (_, n) => `n${n}`);
	const $defs = Object.fromEntries(
		names.map((name) => [name, { anyOf: names.map((other) => ({ $ref: `#/$defs/${other}` })) }]),
	);
	const started = performance.now();
	expect(placeholder(new SchemaDocument({ $defs, $ref: "#/$defs/n0" }))).toBeUndefined();
	expect(placeholder(new SchemaDocument({ $ref: "#" }))).toBeUndefined();
	expect(placeholder(new SchemaDocument({ $ref: "#/nowhere" }))).toBeUndefined();
	expect(performance.now() - started).toBeLessThan(1000);
});

it("does not change the schema", () => {
	const schema = Object.freeze({
		type: "object",
		properties: Object.freeze({ a: Object.freeze({ $ref: "#/$defs/x" }) }),
		$defs: { x: { type: "integer" } },
		required: ["a"],
	});
	const before = JSON.stringify(schema);
	expect(made(schema)).toEqual({ a: 0 });
	expect(JSON.stringify(schema)).toBe(before);
	expect(Object.getOwnPropertyNames(schema.$defs.x)).toEqual(["type"]);
});

/** A sane subset of JSON Schema: every one has a valid document. */
const schemas = fc.letrec<{ schema: Record<string, unknown> }>((tie) => {
	const bounds = (least: string, most: string, max: number) =>
		fc.tuple(fc.nat({ max }), fc.nat({ max })).map(([low, more]) => ({ [least]: low, [most]: low + more }));
	const string = fc.oneof(
		bounds("minLength", "maxLength", 12).map((lengths) => ({ type: "string", ...lengths })),
		fc
			.constantFrom(
				"date",
				"date-time",
				"time",
				"email",
				"uri",
				"uuid",
				"ipv4",
				"ipv6",
				"hostname",
				"duration",
			)
			.map((format) => ({ type: "string", format })),
		fc
			.constantFrom(
				"^[a-z]{2,5}$",
				"^\\d{3}-\\d{4}$",
				"^(foo|ba[rz])+$",
				"^#[0-9a-f]{6}$",
				"^[^,]+,\\s?.*$",
				"^v\\d+\\.\\d+$",
			)
			.map((pattern) => ({ type: "string", pattern })),
		fc
			.uniqueArray(fc.string({ maxLength: 8 }), { minLength: 1, maxLength: 5 })
			.map((members) => ({ type: "string", enum: members })),
	);
	const integer = fc
		.tuple(fc.integer({ min: -50, max: 50 }), fc.nat({ max: 40 }), fc.option(fc.integer({ min: 1, max: 7 })))
		.map(([minimum, more, multipleOf]) => ({
			type: "integer",
			minimum,
			maximum: minimum + more + (multipleOf ?? 0),
			...(multipleOf === null ? {} : { multipleOf }),
		}));
	const number = fc
		.tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: 1, max: 40 }), fc.boolean(), fc.boolean())
		.map(([low, more, above, below]) => ({
			type: "number",
			[above ? "exclusiveMinimum" : "minimum"]: low / 4,
			[below ? "exclusiveMaximum" : "maximum"]: (low + more) / 4,
		}));
	const plain = fc.oneof(
		string,
		integer,
		number,
		fc.constant({ type: "boolean" }),
		fc.constant({ type: "null" }),
		fc.jsonValue({ maxDepth: 2 }).map((value) => ({ const: value })),
		fc.constant({ type: ["integer", "null"] }),
	);
	const key = fc.oneof(
		fc.constantFrom("name", "city", "age", "date", "tags", "to", "id", "is_new"),
		fc.string({ maxLength: 6 }),
	);
	return {
		schema: fc.oneof(
			{ maxDepth: 4, withCrossShrink: true },
			plain,
			fc
				.tuple(
					fc.uniqueArray(fc.tuple(key, tie("schema"), fc.boolean()), {
						maxLength: 4,
						selector: ([name]) => name,
					}),
					fc.boolean(),
				)
				.map(([properties, open]) => ({
					type: "object",
					properties: Object.fromEntries(properties.map(([name, part]) => [name, part])),
					required: properties.filter(([, , must]) => must).map(([name]) => name),
					...(open ? {} : { additionalProperties: false }),
				})),
			fc
				.tuple(tie("schema"), bounds("minItems", "maxItems", 4))
				.map(([items, lengths]) => ({ type: "array", items, ...lengths })),
			bounds("minItems", "maxItems", 3).map((lengths) => ({
				type: "array",
				items: { type: "string", maxLength: 20 },
				uniqueItems: true,
				...lengths,
			})),
			fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
			fc.tuple(tie("schema"), fc.string()).map(([part, description]) => ({ allOf: [part, { description }] })),
		),
	};
}).schema;

describe("any schema", () => {
	it("has a valid document", () => {
		fc.assert(
			fc.property(schemas, (schema) => {
				made(schema);
			}),
			{ numRuns: 400 },
		);
	});

	it("has one in JSON mode, also behind a reference", async () => {
		await fc.assert(
			fc.asyncProperty(schemas, async (part) => {
				const schema = {
					$defs: { part },
					type: "object",
					properties: { part: { $ref: "#/$defs/part" } },
					required: ["part"],
				};
				const value: unknown = JSON.parse(
					await contentOf("hello", {
						response_format: { type: "json_schema", json_schema: { name: "x", schema } },
					}),
				);
				expect(new Validator(structuredClone(schema) as object, "2020-12").validate(value).errors).toEqual(
					[],
				);
			}),
			{ numRuns: 100 },
		);
	});

	it("has valid tool arguments", async () => {
		const properties = fc.dictionary(
			fc.constantFrom("city", "query", "to", "count", "when", "flag"),
			schemas,
			{ maxKeys: 4 },
		);
		await fc.assert(
			fc.asyncProperty(properties, async (given) => {
				const one = tool("do_it", "Does it", given);
				const [call] = await callsOf("hello", { tools: [one], tool_choice: "required" });
				expect(
					new Validator(structuredClone(one.function.parameters ?? {}), "2020-12").validate(call?.arguments)
						.errors,
				).toEqual([]);
			}),
			{ numRuns: 150 },
		);
	});
});
