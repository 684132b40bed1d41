/** However large and nasty a request is, the work for it has a bound, and comes near to it without leaps. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SchemaDocument } from "../../../src/backends/simulator/json-schema.ts";
import { placeholder } from "../../../src/backends/simulator/placeholder.ts";
import type { JsonSchema } from "../../../src/schemas/guarded-schema.ts";
import { callsOf, chat, result, tool, user } from "./fixture.ts";

/** Twice the size may take four times as much, of what is held against each other, and some for noise. */
const MOST_GROWTH = 6;
/** Values held against a schema; below these the growth is not looked at. */
const LITTLE = 1_000;
/** Values tried, and each held against its schema, its place, and the place's alternatives. */
const MOST = 500_000;

const list = <Value>(count: number, make: (nth: number) => Value): Value[] =>
	Array.from({ length: count }, (_, nth) => make(nth));
const object = (properties: Record<string, unknown>) => ({
	type: "object",
	properties,
	required: Object.keys(properties),
});
const many = (count: number, make: (nth: number) => unknown, prefix = "p") =>
	object(Object.fromEntries(list(count, (nth) => [`${prefix}${nth}`, make(nth)])));
const nested = (depth: number, wrap: (inner: unknown) => unknown, leaf: unknown = { type: "string" }) =>
	list(depth, () => wrap).reduce((inner, around) => around(inner), leaf);

/** Schemas that grow with `n`. */
const SHAPES: Record<string, (n: number) => unknown> = {
	properties: (n) => many(n, () => ({ type: "string" })),
	numbers: (n) => many(n, () => ({ type: "number", minimum: 5, multipleOf: 0.7 })),
	"numbers that do not exist": (n) => many(n, () => ({ type: "number", minimum: 5, maximum: 4 })),
	members: (n) => object({ e: { enum: list(n, (nth) => `m${nth}`) } }),
	alternatives: (n) => ({ anyOf: list(n, (nth) => many(2, () => ({}), `k${nth}`)) }),
	"alternatives within alternatives": (n) =>
		nested(
			Math.min(n, 6),
			(inner) => ({
				anyOf: [object({ a: inner }), object({ b: inner }), { type: "array", items: inner, minItems: 1 }],
			}),
			{ type: "string", pattern: "^x{3}$" },
		),
	"alternatives that all fail": (n) =>
		nested(Math.min(n, 8), (inner) => ({ anyOf: [object({ a: inner }), object({ b: inner })] }), {
			type: "string",
			minLength: 5,
			maxLength: 4,
		}),
	"everything at once": (n) => ({
		allOf: list(n, (nth) => ({ anyOf: [many(1, () => ({}), `k${nth}`), many(1, () => ({}), `l${nth}`)] })),
	}),
	"references, each twice": (n) => ({
		$defs: Object.fromEntries(
			list(n, (nth) => {
				const next = { $ref: `#/$defs/d${(nth + 1) % n}` };
				return [`d${nth}`, { anyOf: [{ type: "null", const: 0 }, object({ a: next, b: next })] }];
			}),
		),
		$ref: "#/$defs/d0",
	}),
	"lists that must be long": (n) => nested(2, (items) => ({ type: "array", minItems: n, items })),
	"lists whose members must differ": (n) => ({
		type: "array",
		minItems: n,
		uniqueItems: true,
		items: { type: "boolean" },
	}),
	"properties that need each other": (n) => ({
		...many(n, () => ({ type: "string" })),
		dependentRequired: Object.fromEntries(
			list(Math.min(n, 50), (nth) => [`p${nth}`, list(n, (other) => `p${other}`)]),
		),
	}),
	patterns: (n) => many(n, (nth) => ({ type: "string", pattern: `^[a-z]{${nth % 90}}x${nth}$` })),
	"patterns of names": (n) => ({
		type: "object",
		patternProperties: Object.fromEntries(list(n, (nth) => [`^x${nth}`, { type: "string" }])),
		minProperties: 50,
	}),
};

/** Counts the values that are held against it. */
class CountedDocument extends SchemaDocument {
	held = 0;

	override accepts(value: unknown, schema: JsonSchema = this.root): boolean {
		this.held++;
		return super.accepts(value, schema);
	}
}

function workFor(schema: unknown): number {
	const document = new CountedDocument(schema);
	placeholder(document);
	return document.held;
}

describe("the work for a document", { timeout: 60_000 }, () => {
	it.each(Object.entries(SHAPES))("of %s", (_, shape) => {
		const works = [16, 32, 64, 128, 256, 512].map((n) => workFor(shape(n)));
		expect(works[0]).toBeGreaterThan(0);
		for (const [place, work] of works.entries()) {
			expect(work).toBeLessThanOrEqual(MOST);
			expect(work).toBeLessThanOrEqual(MOST_GROWTH * Math.max(works[place - 1] ?? MOST, LITTLE));
		}
	});

	const count = fc.constantFrom(1, 2, 7, 60, 400);
	const schemas = fc.letrec<{ any: unknown }>((tie) => ({
		any: fc.oneof(
			{ depthSize: "small", withCrossShrink: true },
			fc.constantFrom<unknown>(
				{ type: "string" },
				{ type: "number", minimum: 3 },
				{ type: "boolean" },
				{ type: "string", format: "date-time" },
				{ type: "string", pattern: "^(a|b)*c{3}$" },
				{ $ref: "#" },
				false,
			),
			fc.tuple(count, tie("any")).map(([n, part]) => many(n, () => part)),
			fc.tuple(count, tie("any")).map(([n, items]) => ({ type: "array", minItems: n, items })),
			fc.tuple(count, tie("any")).map(([n, part]) => ({ anyOf: list(n, () => part) })),
			fc.tuple(count, tie("any")).map(([n, part]) => ({ allOf: list(n, () => part) })),
			fc
				.tuple(count, tie("any"))
				.map(([n, part]) => ({ type: "object", minProperties: n, additionalProperties: part })),
			count.map((n) => ({ enum: list(n, (nth) => `p${nth}`) })),
		),
	}));

	it("of any schema", () => {
		fc.assert(
			fc.property(schemas.any, (schema) => {
				try {
					expect(workFor(schema)).toBeLessThanOrEqual(MOST);
				} catch (error) {
					// Refused before any work: a schema that is too large.
					expect(error).toMatchObject({ code: 5006 });
				}
			}),
			{ numRuns: 60 },
		);
	});
});

describe("the work for a text", { timeout: 60_000 }, () => {
	const SCHEMA = many(5, () => ({ type: "string" }));
	const TOOLS = list(200, (nth) => tool(`get_weather_${nth}`, "Weather", SCHEMA.properties));
	const FRAGMENTS =
		'a¦A¦1¦ ¦\n¦\t¦a b ¦use ¦use the ¦use get_weather_1 ¦use get_weather_1 with {¦call the tool named ¦{¦}¦{"a":¦"¦`¦```¦<¦<a>¦<a ¦</a¦</a>¦<system-reminder>¦<a-b>¦<a-b ¦<|¦|¦[INST]¦say ¦reply with exactly ¦only ¦the word ¦: ¦not ¦. ¦? ¦; ¦我¦👩‍¦_¦-'
			.split("¦")
			.concat("\ud800");
	/** What takes less is not measured. */
	const SHORT_MS = 100;
	/** For four times the text: twice as much for the noise, and less than a square's sixteen. */
	const GROWTH = 10;

	const time = async (text: string): Promise<number> => {
		const start = performance.now();
		await chat([user(text), result("1", text)], { tools: TOOLS });
		await chat(text, { tools: TOOLS, tool_choice: "required" });
		await chat(text, { response_format: { type: "json_object" } });
		await chat([], { prompt: text });
		// The clock of the runtime goes on when something waits.
		await scheduler.wait(0);
		return performance.now() - start;
	};

	it("is linear in its length", async () => {
		const fragments = fc.array(fc.constantFrom(...FRAGMENTS), { minLength: 1, maxLength: 2 });
		await fc.assert(
			fc.asyncProperty(fragments, async (parts) => {
				const unit = parts.join("");
				const text = (length: number) => unit.repeat(Math.ceil(length / unit.length));
				// Noise only ever adds: the least of a few is the nearest to the truth.
				let [short, long] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
				for (let attempt = 0; attempt < 4; attempt++) {
					long = Math.min(long, await time(text(32_000)));
					if (long < SHORT_MS) return;
					short = Math.min(short, await time(text(8_000)));
					if (long < GROWTH * short) return;
				}
				expect(long / short).toBeLessThan(GROWTH);
			}),
			{ numRuns: 20 },
		);
	});

	it("is small for a thousand tools and a megabyte", async () => {
		const tools = list(1_000, (nth) => tool(`tool_number_${nth}`, "One of many", {}));
		const text = `Use tool_number_999 now. ${"use tool number ".repeat(60_000)}`;
		const start = performance.now();
		expect(await callsOf(text, { tools })).toEqual([{ name: "tool_number_999", arguments: {} }]);
		await scheduler.wait(0);
		expect(performance.now() - start).toBeLessThan(2_000);
	});
});
