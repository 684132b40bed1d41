import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { AiError } from "../../../src/core/errors.ts";
import { validate } from "../../../src/dialects/validation/validation.ts";

function refusal(schema: z.ZodType, inputs: unknown): string {
	try {
		validate(schema, inputs);
	} catch (error) {
		if (!(error instanceof AiError)) throw error;
		expect(error).toMatchObject({ key: "badInput", code: 5006, status: 400, cause: undefined });
		return error.description;
	}
	throw new Error("the inputs were accepted");
}

const message = z.object({ role: z.string(), content: z.string() });
const chat = z.xor([
	z.object({ prompt: z.string().min(1), temperature: z.number().min(0).max(5).default(0.6) }),
	z.object({ messages: z.array(message), temperature: z.number().min(0).max(5).default(0.6) }),
]);

describe("validate", () => {
	it.each<[unknown]>([[{ toString: 1 }], [{ valueOf: 1, toString: 1 }], [[{ toString: 1 }]]])(
		"refuses an object whose length cannot be compared: %j",
		(length) => {
			const schema = z.object({
				prompt: z.string().min(1).max(9).optional(),
				list: z.array(z.any()).min(1).optional(),
			});
			expect(refusal(schema, { prompt: { length } })).toContain(
				"Type mismatch of '/prompt', 'string' not in 'object'",
			);
			expect(refusal(schema, { list: { length } })).toContain(
				"Type mismatch of '/list', 'array' not in 'object'",
			);
			// A matching value stays unchanged.
			const kept = validate(z.object({ text: z.union([z.string().min(1), z.looseObject({})]) }), {
				text: { length },
			});
			expect(JSON.stringify(kept)).toBe(JSON.stringify({ text: { length } }));
		},
	);

	it("returns the parsed inputs, with defaults and without unknown properties", () => {
		expect(validate(chat, { prompt: "hi", other: 1 })).toEqual({ prompt: "hi", temperature: 0.6 });
	});

	it("has the product's observed wording", () => {
		const flux = z.object({ multipart: z.object({ body: z.unknown(), contentType: z.string() }) });
		expect(refusal(flux, {})).toBe(
			"Error: required properties at '/' are 'multipart': send the fields as a form (multipart/form-data), by the binding as { multipart: { body, contentType } }",
		);
		const nova = z.object({ audio: z.object({ body: z.looseObject({}), contentType: z.string() }) });
		expect(refusal(nova, { audio: {} })).toBe(
			"Error: required properties at '/audio' are 'body,contentType'",
		);
		const clef = z.object({
			model: z.string(),
			state: z.unknown(),
			questions: z.record(z.string(), z.unknown()),
		});
		expect(refusal(clef, { model: "clef", state: "x" })).toBe(
			"Error: required properties at '/' are 'model,state,questions'",
		);
		expect(refusal(chat, {})).toBe(
			"Error: oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt', required properties at '/' are 'messages'",
		);
		expect(refusal(chat, { messages: [{ role: "user", content: null }] })).toBe(
			"Error: oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt', Type mismatch of '/messages/0/content', 'string' not in 'null'",
		);
		expect(refusal(chat, { messages: [{ role: "user", content: [{ type: "text" }] }] })).toBe(
			"Error: oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt', Type mismatch of '/messages/0/content', 'string' not in 'array'",
		);
		expect(refusal(z.object({ temperature: z.number().max(5) }), { temperature: 6 })).toBe(
			"Error: '/temperature' must be <= 5",
		);
		const schnell = z.strictObject({ prompt: z.string().max(4) });
		expect(refusal(schnell, { prompt: "abc", seed: 1 })).toBe(
			"Error: Additional or unevaluated properties '/seed' at '/' not allowed",
		);
		expect(refusal(schnell, { prompt: "abcde" })).toBe("Error: Length of '/prompt' must be <= 4");
		const contexts = z.object({ contexts: z.array(z.object({ text: z.string().min(1) })) });
		expect(refusal(contexts, { contexts: [{ text: "a" }, { text: "" }] })).toBe(
			"Error: Length of '/contexts/1/text' must be >= 1 not met",
		);
		const turbo = z.object({ audio: z.string(), vad_filter: z.boolean().default(false) });
		expect(refusal(turbo, { audio: [0, 255] })).toBe(
			"Error: Type mismatch of '/audio', 'string' not in 'array','binary'",
		);
		expect(refusal(turbo, { audio: "", vad_filter: "true" })).toBe(
			"Error: Type mismatch of '/vad_filter', 'boolean' not in 'string'",
		);
		expect(refusal(z.object({ max_tokens: z.int().optional() }), { max_tokens: null })).toBe(
			"Error: Type mismatch of '/max_tokens', 'integer' not in 'null'",
		);
		const selector = z.object({ model: z.string().regex(/^\s*(clef|clef-flash)\s*$/) });
		expect(refusal(selector, { model: "@cf/cloudflare/clef-flash" })).toBe(
			"Error: '/model' failed test ^\\s*(clef|clef-flash)\\s*$ pattern",
		);
	});

	it("lists all required properties, in the schema's order, once per object", () => {
		expect(refusal(z.object({ messages: z.array(message) }), { messages: [{}, { content: "hi" }] })).toBe(
			"Error: required properties at '/messages/0' are 'role,content', required properties at '/messages/1' are 'role,content'",
		);
		const fields = z.object({
			b: z.string(),
			a: z.enum(["x"]),
			c: z.string().default("c"),
			d: z.xor([z.string()]),
		});
		expect(refusal(fields, { b: undefined })).toBe("Error: required properties at '/' are 'b,a,d'");
	});

	it("reports that several branches of a oneOf match", () => {
		expect(refusal(chat, { prompt: "a", messages: [] })).toBe("Error: oneOf at '/' not met, 2 matches");
	});

	it("distinguishes integers and numbers", () => {
		const schema = z.object({ steps: z.number().int().min(1).max(8).optional() });
		expect(refusal(schema, { steps: 1.5 })).toBe(
			"Error: Type mismatch of '/steps', 'integer' not in 'number'",
		);
		expect(refusal(schema, { steps: "4" })).toBe(
			"Error: Type mismatch of '/steps', 'integer' not in 'string'",
		);
		expect(refusal(schema, { steps: 0 })).toBe("Error: '/steps' must be >= 1");
		expect(refusal(z.string(), 1)).toBe("Error: Type mismatch of '/', 'string' not in 'number','integer'");
	});

	it("lists the types of a union, and describes the branch that fits the value best", () => {
		const text = z.union([z.string(), z.array(z.string()).max(2)]);
		const schema = z.object({ text, top_k: z.int().nullable().optional() });
		expect(refusal(schema, { text: {} })).toBe("Error: Type mismatch of '/text', 'string' not in 'object'");
		expect(refusal(schema, { text: ["a", false] })).toBe(
			"Error: Type mismatch of '/text/1', 'string' not in 'boolean'",
		);
		expect(refusal(schema, { text: ["a", "b", "c"] })).toBe("Error: maxItems at '/text' is 2, got 3");
		expect(refusal(schema, { text: "a", top_k: "1" })).toBe(
			"Error: Type mismatch of '/top_k', 'integer,null' not in 'string'",
		);
		const part = z.union([
			z.object({ type: z.literal("text"), text: z.string() }),
			z.object({ type: z.literal("image_url"), image_url: z.object({ url: z.string() }) }),
		]);
		expect(refusal(z.array(part), [{ type: "image_url", image_url: {} }])).toBe(
			"Error: required properties at '/0/image_url' are 'url'",
		);
		expect(refusal(z.array(part), [{}])).toBe(
			"Error: anyOf at '/0' not met: required properties at '/0' are 'type,text', required properties at '/0' are 'type,image_url'",
		);
	});

	it("follows a discriminator", () => {
		const question = z.discriminatedUnion("type", [
			z.object({ type: z.literal("noul"), criteria: z.object({ true: z.string() }).optional() }),
			z.object({ type: z.literal("score"), criteria: z.array(z.string()).min(2) }),
		]);
		const schema = z.record(z.string().regex(/^[a-z]+$/), question);
		expect(refusal(schema, { q: { type: "score", criteria: {} } })).toBe(
			"Error: Type mismatch of '/q/criteria', 'array' not in 'object'",
		);
		expect(refusal(schema, { q: { type: "score" } })).toBe(
			"Error: required properties at '/q' are 'type,criteria'",
		);
		expect(refusal(schema, { q: {} })).toBe("Error: required properties at '/q' are 'type'");
		expect(refusal(schema, { q: { type: "essay" } })).toBe(
			"Error: enum value not in noul,score at '/q/type'",
		);
		expect(refusal(schema, { q: { type: "score", criteria: ["a"] } })).toBe(
			"Error: minItems at '/q/criteria' is 2, got 1",
		);
		expect(refusal(schema, { "Q 1": { type: "noul" } })).toBe(
			"Error: propertyNames at '/' not met: '/Q 1' failed test ^[a-z]+$ pattern",
		);
	});

	it("has a wording for every other kind of issue", () => {
		const schema = z.object({
			pooling: z.enum(["mean", "cls"]).optional(),
			object: z.literal("list").optional(),
			size: z.number().multipleOf(8).gt(0).lt(4096).optional(),
			url: z.url().optional(),
			text: z
				.unknown()
				.refine((value) => !Array.isArray(value), "must be text")
				.optional(),
			map: z
				.record(z.string(), z.string())
				.refine((map) => Object.keys(map).length <= 1, { params: { maxProperties: 1 } })
				.optional(),
			none: z.never().optional(),
		});
		const cases: [unknown, string][] = [
			[{ pooling: "secret" }, "enum value not in mean,cls at '/pooling'"],
			[{ object: "secret" }, "const value doesn't match list at '/object'"],
			[{ size: 7 }, "'/size' must be multiple of 8"],
			[{ size: 0 }, "'/size' must be > 0"],
			[{ size: 4096 }, "'/size' must be < 4096"],
			[{ url: "secret" }, "'/url' failed test url format"],
			[{ text: [1] }, "'/text' must be text"],
			[{ map: { a: "secret", b: "" } }, "maxProperties at '/map' is 1, got 2"],
			[{ none: 1 }, "Additional or unevaluated properties '/none' at '/' not allowed"],
			[null, "Type mismatch of '/', 'object' not in 'null'"],
			[undefined, "Type mismatch of '/', 'object' not in 'undefined'"],
			[
				{ pooling: 1, size: "" },
				"enum value not in mean,cls at '/pooling', Type mismatch of '/size', 'number' not in 'string'",
			],
		];
		for (const [inputs, expected] of cases) expect(refusal(schema, inputs)).toBe(`Error: ${expected}`);
	});

	it("escapes pointers and shortens long keys", () => {
		const schema = z.record(z.string(), z.string());
		expect(refusal(schema, { "a/b~c": 1 })).toBe(
			"Error: Type mismatch of '/a~1b~0c', 'string' not in 'number','integer'",
		);
		expect(refusal(schema, { ["k".repeat(1000)]: 1 })).toBe(
			`Error: Type mismatch of '/${"k".repeat(63)}…', 'string' not in 'number','integer'`,
		);
	});

	it("finds required properties in lazy, piped and preprocessed schemas", () => {
		const inner = z.object({ a: z.string(), b: z.string() });
		for (const schema of [
			z.lazy(() => inner),
			z.preprocess((value) => value, inner),
			inner.transform((value) => value),
			inner.nullable().optional(),
			z.intersection(inner, z.object({ c: z.string().optional() })),
		])
			expect(refusal(schema, { a: "" })).toBe("Error: required properties at '/' are 'a,b'");
	});
});

type Nested = string | Nested[] | { [key: string]: Nested };
const nested: z.ZodType<Nested> = z.lazy(() =>
	z.union([z.string(), z.array(nested), z.record(z.string(), nested)]),
);

describe("validate, with hostile inputs", () => {
	const LONGEST = 2_100;

	it("lists only some of many issues", () => {
		const items = Array.from({ length: 5_000 }, () => 1);
		const text = refusal(z.object({ items: z.array(z.string()) }), { items });
		expect(text).toMatch(/^Error: Type mismatch of '\/items\/0', .*'\/items\/15', [^/]*, …$/);
	});

	it("stops at the first issue of large inputs", () => {
		const schema = z.object({ items: z.array(z.union([z.string(), z.boolean()])), a: z.string() });
		const first = "Error: Type mismatch of '/items/0', 'string,boolean' not in 'number','integer'";
		expect(refusal(schema, { items: Array.from({ length: 1_000_000 }, () => 1) })).toBe(first);
		const mixed = Array.from({ length: 50_000 }, () => null);
		expect(refusal(schema, { items: mixed })).toBe(
			"Error: Type mismatch of '/items/0', 'string,boolean' not in 'null'",
		);
	});

	it("refuses too many values before validation, except for lists of numbers", () => {
		const schema = z.object({ items: z.array(z.unknown()) });
		const tooMany = "Error: '/' holds more than 100000 values";
		expect(refusal(schema, { items: Array.from({ length: 1_000_000 }, () => "") })).toBe(tooMany);
		expect(refusal(schema, { items: Array.from({ length: 60_000 }, () => ({ text: "" })) })).toBe(tooMany);
		expect(refusal(schema, Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [`k${i}`, i])))).toBe(
			tooMany,
		);
		const items = Array.from({ length: 1_000_000 }, (_, i) => i % 256);
		const { items: read } = validate(schema, { items });
		// `toEqual` takes seconds for so many.
		expect(read).toHaveLength(1_000_000);
		expect(read.findIndex((value, index) => value !== items[index])).toBe(-1);
	});

	it("limits the message for keys of any length", () => {
		const keys = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`${"k".repeat(1_000)}${i}`, 1]));
		expect(refusal(z.strictObject({}), keys).length).toBeLessThan(LONGEST);
		expect(refusal(z.record(z.string(), z.string()), keys).length).toBeLessThan(LONGEST);
		expect(refusal(z.xor([z.strictObject({}), z.record(z.string(), z.null())]), keys).length).toBeLessThan(
			LONGEST,
		);
	});

	it("refuses inputs that are nested too deeply", () => {
		let inputs: unknown = "";
		for (let depth = 0; depth < 90_000; depth++) inputs = [inputs];
		expect(refusal(nested, inputs)).toBe("Error: '/' is too large or too deeply nested to be checked");
	});

	it("never repeats the caller's values", () => {
		const secret = "correct horse battery staple";
		const inputs = {
			prompt: [secret],
			temperature: secret,
			messages: [{ role: 1, content: { secret } }, secret],
		};
		expect(refusal(chat, inputs)).not.toContain("horse");
	});

	it("returns the inputs or throws an AiError for any JSON", () => {
		const schemas = [
			chat,
			nested,
			z.strictObject({ a: z.int().max(3).optional(), b: z.record(z.string().max(2), z.number()) }),
			z.discriminatedUnion("type", [
				z.object({ type: z.literal("a"), n: z.number() }),
				z.object({ type: z.literal("b"), t: z.tuple([z.string(), z.boolean()]) }),
			]),
			z.union([
				z.string().min(3),
				z.array(z.union([z.null(), z.number().int()])).max(2),
				z.object({ "": z.string() }),
			]),
		];
		const field = fc.constantFrom(
			"prompt",
			"messages",
			"role",
			"content",
			"type",
			"a",
			"b",
			"n",
			"t",
			"",
			"__proto__",
		);
		const { json } = fc.letrec((tie) => ({
			json: fc.oneof(
				{ depthSize: "medium", withCrossShrink: true },
				fc.constantFrom<unknown>(null, true, 0, 1.5, -1, 1e300, "", "a", "b", "text"),
				fc.array(tie("json"), { maxLength: 4 }),
				fc.dictionary(field, tie("json"), { maxKeys: 5 }),
			),
		}));
		fc.assert(
			fc.property(
				fc.constantFrom<z.ZodType>(...schemas),
				fc.oneof(json, fc.jsonValue()),
				(schema, inputs) => {
					try {
						expect(schema.safeParse(validate(schema, inputs)).success).toBe(true);
					} catch (error) {
						if (!(error instanceof AiError)) throw error;
						expect(error.code).toBe(5006);
						expect(error.description).toMatch(/^Error: ./);
						expect(error.description.length).toBeLessThan(LONGEST);
					}
				},
			),
			{ numRuns: 1_000 },
		);
	});
});
