import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { skipAbsent } from "../../src/schemas/skip-absent.ts";

const fields = {
	name: z.string(),
	role: z.enum(["user", "assistant"]).optional(),
	content: z.union([z.string(), z.array(z.object({ type: z.string() }))]).nullish(),
	count: z.int().min(1).optional().default(7),
	wrapped: z.optional(z.int().default(3)),
	anything: z.unknown(),
	maybe: z.unknown().optional(),
	empty: z.undefined(),
	trimmed: z
		.string()
		.transform((text) => text.trim())
		.optional(),
	caught: z.string().catch("none"),
	prefault: z.string().prefault("given"),
};

const SCHEMAS = {
	plain: () => z.object(fields),
	loose: () => z.looseObject(fields),
};

const values = fc.oneof(
	fc.constantFrom(undefined, null, "user", " text ", 0, 3, 1.5, true, [], {}),
	fc.constantFrom([{ type: "text", more: 1 }], [{}]),
);
const sent = fc.oneof(
	{ weight: 9, arbitrary: fc.dictionary(fc.constantFrom(...Object.keys(fields), "other"), values) },
	{ weight: 9, arbitrary: fc.dictionary(fc.constantFrom("role", "content", "other"), values) },
	values,
);

describe.each(Object.entries(SCHEMAS))("skipAbsent with %s objects", (_, make) => {
	const original = make();
	const skipping = skipAbsent(make());

	it("parses as the original schema does, with the same order of fields", () => {
		fc.assert(
			fc.property(sent, fc.boolean(), (value, named) => {
				const input =
					named && typeof value === "object" && value ? { name: "a", empty: undefined, ...value } : value;
				const [expected, found] = [original.safeParse(input), skipping.safeParse(input)];
				expect(found).toStrictEqual(expected);
				expect(Object.keys(found.data ?? {})).toEqual(Object.keys(expected.data ?? {}));
				expect(found.error?.issues).toEqual(expected.error?.issues);
			}),
			{ numRuns: 1_000 },
		);
	});

	it("parses the same inside other schemas", () => {
		const within = (schema: z.ZodType) =>
			z.object({
				list: z.array(schema).nullish(),
				one: z.xor([schema, z.object({ name: z.int() })]).optional(),
			});
		const [expecting, finding] = [within(original), skipAbsent(within(skipping))];
		fc.assert(
			fc.property(sent, sent, (one, other) => {
				for (const input of [{ list: [one, other] }, { one }, { list: null, one: other }])
					expect(finding.safeParse(input)).toStrictEqual(expecting.safeParse(input));
			}),
			{ numRuns: 300 },
		);
	});

	it("keeps its JSON Schema", () => {
		const options = { io: "input", unrepresentable: "any" } as const;
		expect(z.toJSONSchema(skipping, options)).toEqual(z.toJSONSchema(original, options));
	});
});

describe("skipAbsent", () => {
	it("runs the schemas of the fields that were sent, and of those with a default", () => {
		const calls: string[] = [];
		const spy = (name: string) => z.unknown().transform(() => calls.push(name));
		skipAbsent(z.object({ sent: spy("sent").optional(), absent: spy("absent").optional() })).parse({
			sent: 1,
		});
		expect(calls).toEqual(["sent"]);
	});

	it("does not make a prototype of a field", () => {
		const read = skipAbsent(z.looseObject({ a: z.int().optional() })).parse(
			JSON.parse('{"a": 1, "__proto__": {"b": 2}}'),
		);
		expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
		expect(Object.keys(read)).toEqual(["a"]);
	});

	it("refuses strict objects, refinements and other catchalls", () => {
		expect(() => skipAbsent(z.strictObject({}))).toThrow(TypeError);
		expect(() => skipAbsent(z.object({}).refine(() => true))).toThrow(TypeError);
		expect(() => skipAbsent(z.object({}).catchall(z.string()))).toThrow(TypeError);
	});
});
