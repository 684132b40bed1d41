import { describe, expect, it } from "vitest";
import * as z from "zod";
import { ignoredFieldsIn, ignoredIn } from "../../src/schemas/ignored-fields.ts";

const schema = z.object({
	name: z.string(),
	options: z
		.object({
			limit: z.number().default(1),
			rules: z.array(z.object({ field: z.string() })).optional(),
			free: z.looseObject({ a: z.number() }).optional(),
			any: z.record(z.string(), z.unknown()).optional(),
		})
		.prefault({})
		.nullish(),
});

describe("fields that a schema ignores", () => {
	it.each<[string, object, string[]]>([
		[
			"none",
			{ name: "a", options: { limit: 1, rules: [{ field: "x" }], free: { b: 1 }, any: { c: 1 } } },
			[],
		],
		["null, which is as absent", { other: null, options: null }, []],
		["a misspelled one", { nme: "a" }, ['nme: unknown, ignored; did you mean "name"?']],
		[
			"inside others",
			{ options: { rules: [{ field: "x" }, { fild: "x" }], limits: 1 } },
			[
				'options.rules[1].fild: unknown, ignored; did you mean "field"?',
				'options.limits: unknown, ignored; did you mean "limit"?',
			],
		],
		["at another place", { limit: 2 }, ['limit: unknown, ignored; did you mean "options.limit"?']],
		["nothing like it", { zebra: 1 }, ["zebra: unknown, ignored"]],
	])("%s", (_, sent, notes) => {
		expect(ignoredIn(schema, sent)).toEqual(notes);
	});

	it("of a loose object are those with the name of an inner field", () => {
		const sent = { name: "a", limit: 2, temperature: 1, options: { limits: 1, rules: [{ fild: "x" }] } };
		expect(ignoredFieldsIn(schema.loose(), sent, { isLoose: true })).toEqual([
			{ path: "limit", note: 'limit: unknown, ignored; did you mean "options.limit"?' },
			{ path: "options.limits", note: 'options.limits: unknown, ignored; did you mean "limit"?' },
			{
				path: "options.rules[0].fild",
				note: 'options.rules[0].fild: unknown, ignored; did you mean "field"?',
			},
		]);
	});

	it("are at most eight, and none that the answer shows", () => {
		const many = Object.fromEntries(Array.from({ length: 100 }, (__, index) => [`x${index}`, 1]));
		expect(ignoredIn(schema, many)).toHaveLength(8);
		const sent = { options: { limit: 1, created: "today", x: 1 } };
		expect(ignoredIn(schema, sent, { shown: { options: { created: "today" } } })).toEqual([
			"options.x: unknown, ignored",
		]);
	});

	it("have the path of the whole", () => {
		expect(ignoredIn(schema, { zebra: 1 }, { path: "body" })).toEqual(["body.zebra: unknown, ignored"]);
	});
});
