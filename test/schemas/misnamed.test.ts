import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { AiError } from "../../src/core/errors.ts";
import { parseFields } from "../../src/http/account-request.ts";
import { misnamed, misnamedField } from "../../src/schemas/misnamed.ts";

const Body = z.object({
	query: z.string(),
	queries: z.number().optional(),
	options: z.object({ gateway: z.object({ id: z.string() }) }).optional(),
	rules: z.array(z.object({ field: z.string() })).optional(),
	named: z.record(z.string(), z.looseObject({ value: z.string() })).optional(),
	step: z
		.union([z.object({ kind: z.literal("a"), target: z.string() }), z.object({ model: z.string() })])
		.optional(),
	exact: z.strictObject({ limit: z.number() }).optional(),
});

const refusal = (sent: unknown): string => {
	try {
		parseFields(Body, sent, "body");
		return "is accepted";
	} catch (error) {
		return (error as AiError).description;
	}
};

describe("the refusal of an absent field", () => {
	it.each<[string, object, string]>([
		[
			"names a misspelled one",
			{ qury: "x" },
			'query: expected text, found nothing; qury: unknown; did you mean "query"?',
		],
		[
			"names one that has the name as a part",
			{ query_text: "x" },
			'query: expected text, found nothing; query_text: unknown; did you mean "query"?',
		],
		["names no known field", { queries: 1 }, "query: expected text, found nothing"],
		["names nothing that is far from it", { zebra: "x" }, "query: expected text, found nothing"],
		[
			"has the place of a field inside others",
			{ query: "x", options: { gateway: { name: "a", ids: "a" } } },
			'options.gateway.id: expected text, found nothing; options.gateway.ids: unknown; did you mean "id"?',
		],
		[
			"has the place of an item",
			{ query: "x", rules: [{ field: "a" }, { fild: "a" }] },
			'rules[1].field: expected text, found nothing; rules[1].fild: unknown; did you mean "field"?',
		],
		[
			"knows loose objects and records",
			{ query: "x", named: { one: { valu: "a" } } },
			'named.one.value: expected text, found nothing; named.one.valu: unknown; did you mean "value"?',
		],
		[
			"knows the branches of a union",
			{ query: "x", step: { kind: "a", taget: "b" } },
			'step.target: expected text, found nothing; step.taget: unknown; did you mean "target"?',
		],
		[
			"names an unknown field of a strict object once",
			{ query: "x", exact: { limt: 1 } },
			'exact.limit: expected a number, found nothing; exact.limt: expected no such field; did you mean "limit"?',
		],
	])("%s", (_, sent, message) => {
		expect(refusal(sent)).toBe(message);
	});

	it("is only of absent fields", () => {
		expect(refusal({ query: 1, qury: "x" })).toBe("query: expected text, found a number");
		expect(refusal({ query: null, qury: "x" })).toBe("query: expected text, found null");
		expect(refusal({ query: "x", qury: "x" })).toBe("is accepted");
		expect(refusal("x")).toBe("body: expected an object, found text");
	});

	it("is not changed if the schema has a sentence of its own about the field", () => {
		const schema = z.object({ secret: z.string("expected a text, because secret_id is not read") });
		expect(() => parseFields(schema, { secret_id: "x" }, "body")).toThrow(/secret_id is not read$/);
	});

	it("does not repeat a long name, of which there may be many", () => {
		const long = (_: unknown, at: number): [string, string] => [`query${at}${"x".repeat(1_000)}`, ""];
		expect(refusal(Object.fromEntries(Array.from({ length: 10_000 }, long)))).toBe(
			"query: expected text, found nothing",
		);
		const name = "n".repeat(1_000);
		const cut = `named.${"n".repeat(100)}…`;
		expect(refusal({ query: "x", named: { [name]: { valu: "" } } })).toContain(`${cut}.value: expected text`);
		expect(refusal({ query: "x", exact: { limit: 1, [name]: 1 } })).toMatch(/^exact\.n{100}…: expected no/);
		expect(refusal({ "query\u001b[31m": "x" })).toContain('["query\\u001b[31m"]: unknown');
	});

	it("has no name of the prototype of an object", () => {
		expect(misnamedField(z.object({ constructors: z.string() }), {}, ["constructors"])).toBeUndefined();
		expect(misnamed("file", ["fil", "metadata"])).toBe('fil: unknown; did you mean "file"?');
	});
});
