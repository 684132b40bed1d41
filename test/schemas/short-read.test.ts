import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { ChatCompletionReply } from "../../src/backends/openai/reply/chat-reply.ts";
import { openaiChat } from "../../src/dialects/chat/openai-route.ts";
import { nullAsAbsent } from "../../src/dialects/fields.ts";
import { nativeDialect } from "../../src/dialects/native.ts";
import { shortRead } from "../../src/schemas/short-read.ts";
import { KIMI, LLAMA, QWEN, VISION } from "../dialects/chat/chat.ts";

const fields = {
	name: z.string(),
	role: z.enum(["user", "assistant"]).optional(),
	content: z.union([z.string(), z.array(z.object({ type: z.string() }))]).nullish(),
	count: z.int().min(1).optional().default(7),
	ratio: z.number().min(0).max(2).nullish(),
	wrapped: z.optional(z.int().default(3)),
	anything: z.unknown(),
	maybe: z.unknown().optional(),
	empty: z.undefined(),
	trimmed: z
		.string()
		.transform((text) => text.trim())
		.optional(),
	halved: z
		.unknown()
		.transform((value) => (typeof value === "number" ? value / 2 : undefined))
		.default(5),
	checked: z.unknown().transform((value, context) => {
		if (value === 0) context.addIssue("zero");
		return value;
	}),
	caught: z.string().catch("none"),
	prefault: z.string().prefault("given"),
	flag: z.literal([true, "yes"]).nullable(),
	texts: z.array(z.string().max(4)).min(1).max(2),
};

const plain = z.object(fields);
const SYNTHETIC: Record<string, z.ZodType> = {
	plain,
	loose: z.looseObject(fields),
	"null as absent": nullAsAbsent(plain, { keepNull: ["ratio"] }),
	list: z.array(z.looseObject({ role: z.string(), content: z.string().nullish() })),
	xor: z.xor([z.object({ name: z.string(), count: z.int().optional() }), z.object({ texts: fields.texts })]),
	"xor with a check": z.xor([
		z.object({ name: z.string() }),
		z.object({ texts: fields.texts }).refine(({ texts }) => texts[0] !== "b"),
	]),
	"union with a check": z.union([
		z.object({ name: z.string() }).refine(({ name }) => name !== "user"),
		z.string(),
		z.looseObject({ name: z.unknown() }),
	]),
	union: z.union([z.string(), z.boolean(), z.null(), z.object({ name: z.string() }), z.array(z.string())]),
	strict: z.strictObject({ name: z.string() }),
	refined: z.object({ name: z.string() }).refine(({ name }) => name !== "user"),
};
const CHATS: Record<string, z.ZodType> = {
	"OpenAI's route": openaiChat.reader.schema(QWEN),
	"OpenAI's route, native model": openaiChat.reader.schema(LLAMA),
	"OpenAI's route, strict": openaiChat.reader.schema(LLAMA, true),
	"native chat": nativeDialect(LLAMA).reader.schema(LLAMA),
	"native chat, strict": nativeDialect(LLAMA).reader.schema(LLAMA, true),
	"native chat with images": nativeDialect(VISION).reader.schema(VISION),
	"chat of a newer model": nativeDialect(KIMI).reader.schema(KIMI),
};

const scalar = fc.constantFrom<unknown>(
	...[undefined, null, "user", "assistant", "system", " text ", "", true, false, "yes"],
	...[0, 1, 3, 1.5, -1, 1e300, Number.NaN, Number.POSITIVE_INFINITY],
);
const part = fc.constantFrom<unknown>({ type: "text", text: "a", other: 1 }, { type: "text" }, {}, "a");
const message = fc.record(
	{
		role: fc.oneof(fc.constantFrom("user", "assistant", "system", "tool"), scalar),
		content: fc.oneof(fc.constantFrom("Hello", ""), fc.array(part, { maxLength: 2 }), scalar),
		name: scalar,
		other: scalar,
	},
	{ requiredKeys: ["role"] },
);
const any = fc.oneof(
	scalar,
	part,
	fc.array(fc.oneof(scalar, part), { maxLength: 3 }),
	fc.dictionary(fc.constantFrom("name", "role", "include_usage"), scalar),
);
const object = (names: readonly string[], values: fc.Arbitrary<unknown> = any) =>
	fc.dictionary(fc.constantFrom(...names, "other", "__proto__"), values, { maxKeys: 6 });
const synthetic = fc.oneof(
	any,
	object(Object.keys(fields)),
	fc.tuple(object(Object.keys(fields)), object(["count", "role", "ratio", "flag"])).map(([one, other]) => ({
		...{ name: "a", empty: undefined, flag: true, texts: ["a"], caught: "c" },
		...one,
		...other,
	})),
	fc.array(message, { maxLength: 2 }),
);
const chat = fc
	.tuple(
		fc.constantFrom({}, { model: "m" }, { prompt: "p" }, { prompt: "" }),
		fc.option(fc.array(message, { maxLength: 3 })),
		fc.dictionary(
			fc.constantFrom(
				"temperature",
				"max_tokens",
				"top_p",
				"stream",
				"stop",
				"seed",
				"n",
				"tools",
				"user",
				"raw",
			),
			scalar,
			{ maxKeys: 3 },
		),
		object(["stream_options", "response_format", "reasoning_effort", "logit_bias", "image"]),
	)
	.map(([start, messages, sampling, others]) => ({
		...start,
		...(messages && { messages }),
		...sampling,
		...others,
	}));
const reply = fc.record(
	{
		id: scalar,
		object: fc.constant("chat.completion"),
		created: scalar,
		choices: fc.array(
			fc.record(
				{ index: scalar, message, finish_reason: scalar, logprobs: any },
				{ requiredKeys: ["message"] },
			),
			{ maxLength: 2 },
		),
		usage: fc.oneof(any, fc.dictionary(fc.constantFrom("prompt_tokens", "completion_tokens"), scalar)),
		other: any,
	},
	{ requiredKeys: [] },
);

/** Names every field of the value, also those with `undefined`, in their order. */
const inOrder = (value: unknown): string =>
	JSON.stringify(value, (_, field: unknown) => (field === undefined ? "(undefined)" : field)) ??
	"(undefined)";

const CASES: [string, z.ZodType, fc.Arbitrary<unknown>][] = [
	...Object.entries(SYNTHETIC).map(([name, schema]) => [name, schema, synthetic] as const),
	...Object.entries(CHATS).map(([name, schema]) => [name, schema, chat] as const),
	["a reply of an engine", ChatCompletionReply, reply] as const,
].map(([name, schema, values]) => [name, schema, values]);

it.each(CASES)("reads what zod accepts, as zod reads it: %s", (_, schema, values) => {
	fc.assert(
		fc.property(values, (value) => {
			const found = shortRead(schema, value);
			if (found === undefined) return;
			const expected = schema.safeParse(value);
			expect(expected.error?.issues).toBeUndefined();
			expect(found).toStrictEqual(expected.data);
			expect(inOrder(found)).toBe(inOrder(expected.data));
		}),
		{ numRuns: 400 },
	);
});

describe("common values are read without zod", () => {
	const messages = [
		{ role: "system", content: "Be brief." },
		{ role: "user", content: "Hello" },
	];

	it.each([
		["OpenAI's route", { model: "m", messages, temperature: 0.5, max_tokens: 9, stream: true }],
		[
			"OpenAI's route, native model",
			{ model: "m", messages, stream_options: { include_usage: true }, user: null },
		],
		["OpenAI's route, strict", { model: "m", messages, temperature: 1 }],
		["native chat", { messages, max_tokens: 5 }],
		["native chat", { prompt: "Hello", stream: true }],
		["native chat, strict", { messages }],
		["native chat with images", { messages }],
		["chat of a newer model", { messages, tools: [] }],
	])("%s: %j", (name, body) => {
		const schema = CHATS[name];
		expect(schema && shortRead(schema, body)).toEqual(schema?.parse(body));
		expect(schema && shortRead(schema, body)).toBeDefined();
	});

	it("the reply of an engine", () => {
		const choice = { index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" };
		const body = {
			id: "a",
			choices: [choice],
			usage: { prompt_tokens: 1, completion_tokens: 2 },
			x_groq: {},
		};
		expect(shortRead(ChatCompletionReply, body)).toEqual({
			...body,
			usage: { ...body.usage, total_tokens: 3 },
		});
	});
});

it.each<[string, z.ZodType, unknown]>([
	["text", z.string().min(2).max(3), "abc"],
	["a number", z.number().min(0.5).max(2), 0.5],
	["an integer", z.int().max(7), 7],
	["a boolean", z.boolean(), false],
	["one of several values", z.enum(["a", "b"]), "b"],
	["a literal", z.literal(["a", 1]), 1],
	["anything", z.unknown(), { a: 1 }],
	["a value that may be absent", z.string().optional(), "a"],
	["a value with a default", z.int().default(3), 4],
	["null", z.string().nullable(), null],
	["a list", z.array(z.string()).min(1).max(2), ["a", "b"]],
	["the second option", z.union([z.string(), z.int()]), 5],
	["the option with these keys", z.xor([z.object({ a: z.int() }), z.object({ b: z.int() })]), { b: 1 }],
])("%s is read without zod", (_, schema, value) => {
	expect(shortRead(schema, value)).toEqual(value);
});

it.each<[string, z.ZodType, unknown]>([
	["text that is too short", z.string().min(2), "a"],
	["text that is too long", z.string().max(3), "abcd"],
	["text of another type", z.string(), 1],
	["text with a format", z.email(), "a@example.com"],
	["text with a pattern", z.string().regex(/a/), "a"],
	["converted text", z.coerce.string(), "a"],
	["a small number", z.number().min(1), 0.5],
	["a large number", z.number().max(1), 1.5],
	["an exclusive limit", z.number().gt(1), 1],
	["a number that is not finite", z.number(), Number.NaN],
	["an integer with few bits", z.int32(), 2 ** 40],
	["a multiple", z.number().multipleOf(2), 2],
	["a converted number", z.coerce.number(), 1],
	["a fraction", z.int(), 1.5],
	["a converted boolean", z.coerce.boolean(), true],
	["a boolean with a refinement", z.boolean().refine(() => true), true],
	["an unknown value with a refinement", z.unknown().refine(() => true), 1],
	[
		"an optional value with a refinement",
		z
			.string()
			.optional()
			.refine(() => true),
		"a",
	],
	["an enum with a refinement", z.enum(["a"]).refine(() => true), "a"],
	["a list with a refinement", z.array(z.string()).refine(() => true), []],
	["a list of unlisted types", z.array(z.date()), []],
	["a list that is too short", z.array(z.string()).min(1), []],
	["a list with an invalid item", z.array(z.string()), ["a", 1]],
	["an option after one that may accept it", z.union([z.object({ a: z.int() }), z.object({})]), { a: "" }],
	["several possible options", z.xor([z.object({ a: z.int().optional() }), z.object({})]), {}],
	["an option after one that zod reads", z.union([z.email(), z.int()]), 1],
	["an option in a field after one that zod reads", z.object({ a: z.union([z.email(), z.int()]) }), { a: 1 }],
	["an option after text that zod trims", z.union([z.string().trim(), z.string()]), " a"],
	["an option after a multiple", z.union([z.number().multipleOf(2), z.number()]), 3],
	["an option after an exclusive limit", z.union([z.number().gt(1), z.number()]), 1],
	["a union with a refinement", z.union([z.string(), z.int()]).refine(() => true), 1],
	["an object with a refinement", z.object({ a: z.int() }).refine(() => true), { a: 1 }],
	["an object without other fields", z.strictObject({ a: z.int() }), { a: 1 }],
])("zod decides %s", (_, schema, value) => {
	expect(shortRead(schema, value)).toBeUndefined();
});

it("a key of the caller does not become a prototype", () => {
	const read = shortRead(
		z.looseObject({ a: z.int().optional() }),
		JSON.parse('{"a": 1, "__proto__": {"b": 2}}'),
	);
	expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
	expect(Object.keys(read ?? {})).toEqual(["a"]);
});
