import { type Schema, validate } from "@cfworker/json-schema";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { COSTLY_PATTERN, GuardedSchema, isTooLarge } from "../../src/schemas/guarded-schema.ts";

const LONGEST = { characters: 10_000, items: 1_000 };
const guarded = (schema: unknown) => new GuardedSchema(schema, LONGEST);
const COSTLY = "^(a+)+$";

const json = fc.letrec<{ any: unknown }>((tie) => ({
	any: fc.oneof(
		{ depthSize: "medium", withCrossShrink: true },
		fc.constantFrom<unknown>(null, true, false, 0, 1, 2.5, -3, "", "a", "ab", "aab", "2024-05-01", "x1"),
		fc.array(tie("any"), { maxLength: 4 }),
		fc.dictionary(fc.constantFrom("a", "b", "ab", "x1"), tie("any"), { maxKeys: 4 }),
	),
}));

/** Schemas of a few keywords, with patterns from a list, `$defs` and `$ref` among them. */
const schemaWith = (patterns: string[]) => {
	const pattern = fc.constantFrom(...patterns);
	const keyword = (key: string, value: fc.Arbitrary<unknown>) => value.map((given) => ({ [key]: given }));
	const leaf = fc.oneof(
		keyword(
			"type",
			fc.constantFrom("string", "number", "integer", "object", "array", "boolean", ["string", "null"]),
		),
		keyword("enum", fc.array(json.any, { minLength: 1, maxLength: 3 })),
		keyword("const", json.any),
		keyword("minLength", fc.nat(2)),
		keyword("maximum", fc.nat(2)),
		keyword("pattern", pattern),
		keyword("format", fc.constantFrom("date", "email")),
		keyword("required", fc.uniqueArray(fc.constantFrom("a", "b"), { maxLength: 2 })),
		keyword("uniqueItems", fc.boolean()),
		keyword("minItems", fc.nat(2)),
		keyword("maxContains", fc.nat(2)),
		keyword("$ref", fc.constantFrom("#/$defs/one", "#/$defs/two")),
	);
	const { schema } = fc.letrec<{ part: unknown; schema: object; branch: object }>((tie) => {
		const part = tie("part");
		const parts = fc.array(part, { minLength: 1, maxLength: 2 });
		return {
			part: fc.oneof({ depthSize: "small", withCrossShrink: true }, fc.boolean(), leaf, tie("schema")),
			branch: fc.oneof(
				...[
					"additionalProperties",
					"unevaluatedProperties",
					"propertyNames",
					"items",
					"contains",
					"not",
					"if",
					"then",
					"else",
				].map((key) => keyword(key, part)),
				...["prefixItems", "allOf", "anyOf", "oneOf"].map((key) => keyword(key, parts)),
				keyword("properties", fc.dictionary(fc.constantFrom("a", "b", "ab"), part, { maxKeys: 2 })),
				keyword("patternProperties", fc.dictionary(pattern, part, { maxKeys: 2 })),
			),
			schema: fc
				.tuple(fc.array(leaf, { maxLength: 2 }), fc.array(tie("branch"), { maxLength: 3 }))
				.map(([leaves, branches]): object => Object.assign({}, ...leaves, ...branches)),
		};
	});
	return schema.map((root) => ({
		...root,
		$defs: {
			one: { type: ["string", "object"], minLength: 1 },
			two: { anyOf: [{ $ref: "#/$defs/one" }, { type: "number" }] },
		},
	}));
};

const unguarded = (value: unknown, schema: unknown): boolean =>
	validate(value, structuredClone(schema) as Schema, "2020-12").valid;

describe("holding values against a schema", { timeout: 30_000 }, () => {
	it("is as without a guard where its expressions are harmless", () => {
		let valid = 0;
		fc.assert(
			fc.property(
				schemaWith(["^a", "b$", "^[a-z]+\\d$", "a{2}"]),
				fc.array(json.any, { minLength: 1, maxLength: 6 }),
				(schema, values) => {
					const guard = guarded(structuredClone(schema));
					for (const value of values) {
						const isValid = unguarded(value, schema);
						if (isValid) valid++;
						expect(guard.accepts(value)).toBe(isValid);
					}
				},
			),
			{ numRuns: 1_000 },
		);
		expect(valid).toBeGreaterThan(100);
	});

	it("accepts all that the schema does where they are not", () => {
		fc.assert(
			fc.property(
				schemaWith([COSTLY, "^a", "(?=a)"]),
				fc.array(json.any, { minLength: 1, maxLength: 6 }),
				(schema, values) => {
					const guard = guarded(structuredClone(schema));
					for (const value of values) if (unguarded(value, schema)) expect(guard.accepts(value)).toBe(true);
				},
			),
			{ numRuns: 1_000 },
		);
	});

	it("leaves the caller's schema as it is", () => {
		fc.assert(
			fc.property(schemaWith([COSTLY, "^a"]), json.any, (schema, value) => {
				const before = structuredClone(schema);
				guarded(schema).accepts(value);
				expect(schema).toEqual(before);
			}),
		);
	});

	it("knows the drafts by what $schema names", () => {
		const tuple = { items: [{ type: "string" }, { type: "number" }] };
		const draft7 = guarded({ $schema: "http://json-schema.org/draft-07/schema#", ...tuple });
		expect([draft7.accepts(["a", 1]), draft7.accepts([1, "a"])]).toEqual([true, false]);
		const draft4 = guarded({
			$schema: "http://json-schema.org/draft-04/schema#",
			maximum: 3,
			exclusiveMaximum: true,
		});
		expect([draft4.accepts(2), draft4.accepts(3)]).toEqual([true, false]);
		const dependent = { prefixItems: [{ type: "string" }], items: false };
		expect(guarded(dependent).accepts(["a", 1])).toBe(false);
	});

	it("goes into parts of the schema", () => {
		const guard = guarded({ properties: { a: { $ref: "#/$defs/n" } }, $defs: { n: { type: "number" } } });
		if (typeof guard.root !== "object") throw new Error("a schema");
		const part = guard.root.properties?.a;
		if (typeof part !== "object") throw new Error("a part");
		expect([guard.accepts(1, part), guard.accepts("a", part)]).toEqual([true, false]);
		expect(guard.target(part)).toMatchObject({ type: "number" });
		expect(guard.target({})).toBeUndefined();
	});
});

const conditional = (condition: object, holds: object, otherwise: object): object =>
	Object.fromEntries(Object.entries({ if: condition, else: otherwise }).concat([["then", holds]]));

describe("what may take too long is not in the copy", () => {
	it.each<[string, object, object]>([
		["an expression", { type: "string", pattern: COSTLY }, { type: "string", [COSTLY_PATTERN]: COSTLY }],
		["an expression that is cheap stays", { pattern: "^a+$" }, { pattern: "^a+$" }],
		["what is no expression stays", { pattern: "(" }, { pattern: "(" }],
		["the format url", { format: "url" }, { format: "iri" }],
		["other formats stay", { format: "uri" }, { format: "uri" }],
		[
			"expressions for names",
			{ patternProperties: { [COSTLY]: {}, "^b": {} }, additionalProperties: false },
			{ patternProperties: { "^b": {} } },
		],
		["what must not hold, where a part of it does not say all", { not: { pattern: COSTLY } }, {}],
		["what is the condition", conditional({ pattern: COSTLY }, { const: 1 }, { const: 2 }), {}],
		[
			"what holds for one alone",
			{ oneOf: [{ pattern: COSTLY }, { type: "number" }] },
			{ allOf: [{ anyOf: [{ [COSTLY_PATTERN]: COSTLY }, { type: "number" }] }] },
		],
		[
			"what is counted",
			{ contains: { pattern: COSTLY }, maxContains: 1 },
			{ contains: { [COSTLY_PATTERN]: COSTLY } },
		],
		[
			"what nothing else spoke of",
			{ properties: { a: { pattern: COSTLY } }, unevaluatedProperties: false },
			{ properties: { a: { [COSTLY_PATTERN]: COSTLY } } },
		],
		["a reference that follows the caller", { $recursiveRef: "#" }, {}],
		[
			"data that looks like a schema stays",
			{ const: { pattern: COSTLY }, enum: [{ format: "url" }] },
			{ const: { pattern: COSTLY }, enum: [{ format: "url" }] },
		],
		[
			"a property that is called pattern stays",
			{ properties: { pattern: { type: "string" }, format: { const: "url" } } },
			{ properties: { pattern: { type: "string" }, format: { const: "url" } } },
		],
	])("%s", (_, schema, copy) => {
		const { root } = guarded(schema);
		const written: unknown = JSON.parse(
			JSON.stringify(root, (key, value) => (key.startsWith("__") ? undefined : value)),
		);
		expect(written).toEqual(copy);
	});

	it("members that must differ, of which there may be too many", () => {
		const unique = (items: number) =>
			new GuardedSchema({ uniqueItems: true }, { characters: 10, items }).root;
		expect(unique(2_000)).toMatchObject({ uniqueItems: true });
		expect(unique(2_001)).not.toHaveProperty("uniqueItems");
	});

	it("what a reference leads to may have lost something, too", () => {
		const schema = { not: { $ref: "#/$defs/a" }, $defs: { a: { pattern: COSTLY } } };
		expect(guarded(schema).accepts("b")).toBe(true);
		expect(guarded(schema).accepts("aaa")).toBe(true);
	});

	it("expressions after the first hundred", () => {
		const many = (count: number) => ({
			allOf: Array.from({ length: count }, (_, nth) => ({ pattern: `^(?!x)|a{${nth}}` })),
		});
		const plain = (count: number) => ({
			allOf: Array.from({ length: count }, (_, nth) => ({ pattern: `^a{0,${nth}}` })),
		});
		const kept = (schema: object) => JSON.stringify(guarded(schema).root).match(/"pattern"/g)?.length ?? 0;
		expect([kept(plain(100)), kept(plain(101)), kept(many(3))]).toEqual([100, 100, 0]);
	});
});

describe("its expressions", () => {
	it("match, or the result is unknown", () => {
		const guard = guarded({});
		expect(guard.matches("^a+$", "aaa")).toBe(true);
		expect(guard.matches("^a+$", "b")).toBe(false);
		expect(guard.matches(COSTLY, "a")).toBeUndefined();
		expect(guard.matches("(", "a")).toBeUndefined();
	});
});

describe("what is refused", () => {
	it("a schema that is too large", () => {
		expect(() => guarded({ enum: [Array.from({ length: 60_000 }, () => [])] })).toThrow(RangeError);
	});

	it("values without an end, all that come after them too", () => {
		const guard = guarded({
			properties: { a: { $ref: "#/$defs/a" } },
			$defs: { a: { anyOf: [{ $ref: "#/$defs/a" }, {}] } },
		});
		expect(guard.accepts({})).toBe(true);
		expect(guard.isSpent).toBe(false);
		expect(() => guard.accepts({ a: 1 })).toThrow(RangeError);
		expect(guard.isSpent).toBe(true);
		expect(() => guard.accepts({})).toThrow(RangeError);
	});

	it("more than 50 million steps, all values together", () => {
		const guard = guarded({ items: { enum: Array.from({ length: 700 }, (_, nth) => nth) } });
		const value = Array.from({ length: 1_000 }, (_, nth) => nth % 10);
		let held = 0;
		expect(() => {
			for (; held < 1_000; held++) guard.accepts(value);
		}).toThrow("takes too long");
		// Ten different members, each a visit; and as many again for each time that it comes.
		expect(held).toBeGreaterThan(10);
		expect(held).toBeLessThan(100);
	});
});

describe("a schema that is too large", () => {
	const nested = (levels: number): unknown => (levels === 0 ? {} : { not: nested(levels - 1) });

	it("goes 128 levels deep at the most", () => {
		expect(isTooLarge(nested(128))).toBe(false);
		expect(isTooLarge(nested(129))).toBe(true);
	});

	it("has 50,000 nodes at the most", () => {
		const nodes = (count: number) => Array.from({ length: count - 1 }, () => ({}));
		expect(isTooLarge(nodes(50_000))).toBe(false);
		expect(isTooLarge(nodes(50_001))).toBe(true);
	});

	it("has paths of four million characters together", () => {
		const keys = (count: number) => ({ ["k".repeat(1_000)]: Array.from({ length: count }, () => ({})) });
		expect(isTooLarge(keys(3_900))).toBe(false);
		expect(isTooLarge(keys(4_100))).toBe(true);
	});

	it("is not one of anything else", () => {
		for (const value of [true, null, "a", 1, [], {}, undefined]) expect(isTooLarge(value)).toBe(false);
	});
});
