/** The kinds of issues that schemas of callers cause have sentences of the gateway, not of zod. */
import { expect, it } from "vitest";
import * as z from "zod";
import { explain } from "../../src/schemas/explain.ts";

const sentences = (schema: z.ZodType, value: unknown): string[] =>
	schema.safeParse(value, { error: explain }).error?.issues.map(({ message }) => message) ?? [];

it.each<[string, z.ZodType, unknown, string]>([
	["a type", z.string(), 1, "expected text, found a number"],
	["no value", z.object({ id: z.string() }), {}, "expected text, found nothing"],
	["a whole number", z.int(), 1.5, "expected a whole number, found 1.5"],
	["no number", z.coerce.number(), "x", "expected a number, found NaN"],
	["an endless number", z.number(), Number.POSITIVE_INFINITY, "expected a number, found Infinity"],
	["a list that needs two", z.array(z.string()).min(2), [], "expected at least 2 items, found 0"],
	["a long list", z.array(z.string()).max(1), ["a", "b"], "expected at most 1 item, found 2"],
	["text of a form without a name", z.email(), "x", "expected text of another form, found another text"],
	["no field", z.array(z.never()), [1], "expected nothing, found a number"],
	["null", z.null(), 1, "expected null, found a number"],
	[
		"a choice",
		z.enum(["low", "high"]),
		"slow",
		'expected "low" or "high", found "slow"; did you mean "low"?',
	],
	["a literal", z.literal(3), 4, "expected 3, found 4"],
	["a short text", z.string().min(2), "a", "expected at least 2 characters, found 1"],
	["an empty list", z.array(z.string()).min(1), [], "expected one or more, found none"],
	["a large number", z.number().max(2), 3, "expected at most 2, found 3"],
	["a multiple", z.number().multipleOf(4), 6, "expected a multiple of 4, found 6"],
	["a pattern", z.string().regex(/^[a-z]$/), "A", "expected text that matches /^[a-z]$/, found another text"],
	["a date", z.iso.date(), "today", "expected a date such as 2026-11-21, found another text"],
	["a time", z.iso.datetime(), "now", "expected a time such as 2026-11-21T08:00:00Z, found another text"],
	["a URL", z.url(), "x", "expected a URL, found another text"],
	["a UUID", z.uuid(), "x", "expected a UUID, found another text"],
	["a key", z.record(z.string().max(1), z.number()), { ab: 1 }, "expected at most 1 character, found 2"],
	[
		"an unknown field",
		z.strictObject({ id: z.string() }),
		{ id: "", x: 1 },
		"expected no such field, only id",
	],
	[
		"the type of a union",
		z.discriminatedUnion("type", [z.object({ type: z.literal("a") }), z.object({ type: z.literal("b") })]),
		{ type: "c" },
		'expected "a" or "b", found "c"',
	],
])("explains %s", (_, schema, value, sentence) => {
	expect(sentences(schema, value)).toEqual([sentence]);
});
