/** However large and nasty a request is, the work for it has a bound, and comes near to it without leaps. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { read } from "../../../src/backends/simulator/conversation.ts";
import { type Effort, fullEffort } from "../../../src/backends/simulator/effort.ts";
import { Evidence } from "../../../src/backends/simulator/evidence.ts";
import { instanceOf } from "../../../src/backends/simulator/instance.ts";
import { SchemaDocument } from "../../../src/backends/simulator/json-schema.ts";
import { Source } from "../../../src/backends/simulator/source.ts";
import { callsFor } from "../../../src/backends/simulator/tools.ts";
import type { JsonSchema } from "../../../src/schemas/guarded-schema.ts";
import type { ChatMessage, ChatTool } from "../../../src/tasks/text-generation.ts";
import { chat, inputOf, NOW, result, tool, user } from "./fixture.ts";

const FULL = fullEffort();
/** How much more of a request twice the size may take: of what is held against each other, four times as much. */
const MOST_GROWTH = 6;

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

const VALUES =
	'Alice Smith|bob@example.com|42|Paris|tomorrow|https://x.org/a|ORD-17|"in quotes"|p3 is red'.split("|");
const prose = (count: number): string => list(count, (nth) => VALUES[nth % VALUES.length]).join(", ");
const KINDS =
	"email url city date name title path query message id from to expression unit timezone address sql".split(
		" ",
	);

/** Schemas and texts that grow with `n`. */
const SHAPES: Record<string, (n: number) => { schema: unknown; text: string }> = {
	properties: (n) => ({ schema: many(n, () => ({ type: "string" })), text: prose(n) }),
	"properties that the text names": (n) => ({
		schema: many(n, () => ({ type: "string" })),
		text: list(n, (nth) => `p${nth} is v${nth}`).join(", "),
	}),
	"properties of every kind": (n) => ({
		schema: object(
			Object.fromEntries(list(n, (nth) => [`x${nth}_${KINDS[nth % KINDS.length]}`, { type: "string" }])),
		),
		text: prose(n),
	}),
	numbers: (n) => ({
		schema: many(n, () => ({ type: "number", minimum: 5 })),
		text: list(n, String).join(" "),
	}),
	"numbers that none fits": (n) => ({
		schema: many(n, () => ({ type: "number", minimum: 1e9 })),
		text: list(n, String).join(" "),
	}),
	lists: (n) => ({ schema: many(n, () => ({ type: "array", items: { type: "string" } })), text: prose(n) }),
	members: (n) => ({
		schema: object({ e: { enum: list(n, (nth) => `m${nth}`) } }),
		text: list(n, (nth) => `m${nth}`).join(" "),
	}),
	"members of many words": (n) => ({
		schema: object({ e: { enum: list(n, (nth) => `${"a ".repeat(1 + (nth % 40))}b`) } }),
		text: "a b c ".repeat(n),
	}),
	alternatives: (n) => ({
		schema: { anyOf: list(n, (nth) => many(2, () => ({}), `k${nth}`)) },
		text: prose(50),
	}),
	"alternatives within alternatives": (n) => ({
		schema: nested(
			Math.min(n, 6),
			(inner) => ({
				anyOf: [object({ a: inner }), object({ b: inner }), { type: "array", items: inner, minItems: 1 }],
			}),
			{ type: "string", pattern: "^x{3}$" },
		),
		text: prose(50),
	}),
	"everything at once": (n) => ({
		schema: {
			allOf: list(n, (nth) => ({ anyOf: [many(1, () => ({}), `k${nth}`), many(1, () => ({}), `l${nth}`)] })),
		},
		text: prose(50),
	}),
	"references, each twice": (n) => ({
		schema: {
			$defs: Object.fromEntries(
				list(n, (nth) => {
					const next = { $ref: `#/$defs/d${(nth + 1) % n}` };
					return [`d${nth}`, { anyOf: [{ type: "null", const: 0 }, object({ a: next, b: next })] }];
				}),
			),
			$ref: "#/$defs/d0",
		},
		text: prose(50),
	}),
	"lists that must be long": (n) => ({
		schema: nested(2, (items) => ({ type: "array", minItems: n, items })),
		text: prose(50),
	}),
	"objects in lists": (n) => ({
		schema: object({
			people: { type: "array", items: object({ name: { type: "string" }, age: { type: "integer" } }) },
		}),
		text: list(n, (nth) => `Name${nth} is ${nth} years old`).join(", "),
	}),
	"properties that need each other": (n) => ({
		schema: {
			...many(n, () => ({ type: "string" })),
			dependentRequired: Object.fromEntries(
				list(Math.min(n, 50), (nth) => [`p${nth}`, list(n, (other) => `p${other}`)]),
			),
		},
		text: prose(50),
	}),
	patterns: (n) => ({
		schema: many(n, (nth) => ({ type: "string", pattern: `^[a-z]{${nth % 90}}x${nth}$` })),
		text: prose(50),
	}),
	"patterns of names": (n) => ({
		schema: {
			type: "object",
			patternProperties: Object.fromEntries(list(n, (nth) => [`^x${nth}`, { type: "string" }])),
			minProperties: 50,
		},
		text: prose(50),
	}),
};

/** Counts what it is asked. */
class CountedDocument extends SchemaDocument {
	steps = 0;

	override accepts(value: unknown, schema: JsonSchema = this.root): boolean {
		this.steps++;
		return super.accepts(value, schema);
	}
}

interface Work extends Effort {
	/** Values held against a schema. */
	held: number;
}

/** Below these nobody looks how it grows. */
const LITTLE: Work = { held: 1_000, values: 500, characters: 50_000 };

const spent = ({ values, characters }: Effort): Effort => ({
	values: FULL.values - values,
	characters: FULL.characters - characters,
});

function workFor(schema: unknown, text: string): Work {
	const document = new CountedDocument(schema);
	const effort = fullEffort();
	instanceOf(document, {
		evidence: new Evidence({ primary: text, others: [new Source(text)], now: NOW, effort }),
		optional: "all",
		guess: true,
		written: () => undefined,
		fallback: () => "unknown",
	});
	return { held: document.steps, ...spent(effort) };
}

function expectBounded({ values, characters }: Effort): void {
	expect(values).toBeLessThanOrEqual(FULL.values);
	expect(characters).toBeLessThanOrEqual(FULL.characters);
}

/** From each size to its double. */
function expectSteady(works: Work[]): void {
	for (const [place, work] of works.entries()) {
		const before = works[place - 1];
		if (before === undefined) continue;
		for (const kind of ["held", "values", "characters"] as const)
			expect(work[kind], kind).toBeLessThanOrEqual(MOST_GROWTH * Math.max(before[kind], LITTLE[kind]));
	}
}

describe("the work for a document", { timeout: 60_000 }, () => {
	it.each(Object.entries(SHAPES))("of %s", (_, shape) => {
		const works = [16, 32, 64, 128, 256, 512].map((n) => {
			const { schema, text } = shape(n);
			return workFor(schema, text);
		});
		works.forEach(expectBounded);
		expectSteady(works);
		expect(works[0]?.held).toBeGreaterThan(0);
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
			fc.property(schemas.any, count, (schema, n) => {
				try {
					expectBounded(workFor(schema, prose(n)));
				} catch (error) {
					// Refused before any work: a schema that is too large.
					expect(error).toMatchObject({ code: 5006 });
				}
			}),
			{ numRuns: 40 },
		);
	});
});

describe("the work for the calls of tools", { timeout: 60_000 }, () => {
	const parameters = (n: number, make: (nth: number) => unknown = () => ({ type: "string" })) =>
		Object.fromEntries(list(n, (nth) => [`p${nth}`, make(nth)]));
	const clauses = (n: number) =>
		list(n, (nth) => `get the weather in City${nth} for ${nth} days`).join(" and ");
	const TOOLS: Record<string, (n: number) => { tools: ChatTool[]; messages: ChatMessage[] }> = {
		"many tools": (n) => ({
			tools: list(n, (nth) => tool(`get_weather_${nth}`, "Get the weather", parameters(3))),
			messages: [user(clauses(20))],
		}),
		"many clauses": (n) => ({
			tools: [tool("get_weather", "Get the weather", parameters(5))],
			messages: [user(clauses(n))],
		}),
		"many parameters": (n) => ({
			tools: [tool("get_weather", "Get the weather", parameters(n))],
			messages: [user(clauses(20))],
		}),
		"many members": (n) => ({
			tools: [
				tool(
					"get_weather",
					"Get the weather",
					parameters(20, () => ({ enum: list(n, (nth) => `a b City${nth}`) })),
				),
			],
			messages: [user(clauses(20))],
		}),
		"many results": (n) => ({
			tools: [tool("get_weather", "Get the weather", parameters(20))],
			messages: [user(clauses(20)), ...list(n, (nth) => result(`${nth}`, prose(n)))],
		}),
		"long names": (n) => ({
			tools: [
				tool("weather_".repeat(n), "Get the weather", { ["city_".repeat(n)]: { enum: ["of_".repeat(n)] } }),
			],
			messages: [user(`Use the ${"weather ".repeat(n)} tool for city ${"of ".repeat(n)}`)],
		}),
	};

	it.each(Object.entries(TOOLS))("with %s", (_, make) => {
		const works = [16, 32, 64, 128, 256, 512].map((n) => {
			const input = inputOf(make(n).messages, make(n));
			const effort = fullEffort();
			const calls = callsFor(input, read(input), { now: NOW, effort });
			expect(calls.length).toBeLessThanOrEqual(8);
			return { held: 0, ...spent(effort) };
		});
		works.forEach(expectBounded);
		expectSteady(works);
	});
});

describe("a text that repeats itself", () => {
	const EVERY_KIND = object({
		...Object.fromEntries(KINDS.map((kind) => [kind, { type: "string" }])),
		at: { type: "string", format: "date-time" },
		count: { type: "integer" },
		urgent: { type: "boolean" },
		level: { enum: ["low", "a b", "high"] },
		tags: { type: "array", items: { type: "string" } },
		people: { type: "array", items: object({ name: { type: "string" }, age: { type: "integer" } }) },
	});
	const TOOL = tool("search_weather", "Search the web for the weather", EVERY_KIND.properties);
	const FRAGMENTS =
		'a¦A¦1¦1,¦1.¦a.¦a@¦(¦[¦{¦"¦\'¦`¦“¦- ¦ ¦\n¦\t¦a b ¦Aa ¦A, ¦and ¦in A ¦to A and ¦1+¦(1¦sqrt(¦twenty-¦what ¦what is ¦who? ¦. ¦Is a. ¦: ¦name: ¦name is ¦made by A ¦http://¦a-¦a_¦/¦a/¦~/¦.a¦#1¦2024-¦12:¦3pm ¦may 1 ¦search for ¦send: ¦saying ¦select ¦insert into ¦with a, ¦titled ¦e.g. ¦<a>¦<¦[INST]¦question:¦我叫¦的¦天气¦。¦？¦e\u0301¦👩\u200d¦\u0000¦ß¦not ¦\\¦$¦** ¦1. ¦answer: ¦The capital of A is B. ¦summarize ¦my name is ¦hello, ¦a: "b" ¦"a": ¦keys ¦and then ¦; ¦1 % of ¦1 squared ¦100,000¦+1 ¦ORD-1 ¦A. ¦A van ¦de la '
			.split("¦")
			.concat("<|", "|", "~/");
	/** What takes less is not measured. */
	const SHORT_MS = 100;
	/** For four times the text: twice as much for the noise, and less than a square's sixteen. */
	const GROWTH = 10;

	const answer = async (text: string): Promise<void> => {
		const said = [user(`The sky is blue. ${text}`), user(`Search the weather ${text}?`), result("1", text)];
		await chat(said.slice(0, 2), { tools: [TOOL], tool_choice: "required" });
		await chat(said, { tools: [TOOL] });
		await chat(said, {
			response_format: { type: "json_schema", json_schema: { name: "a", schema: EVERY_KIND } },
		});
		await chat([user(`JSON with keys ${text}`)], { response_format: { type: "json_object" } });
	};
	const time = async (text: string): Promise<number> => {
		const start = performance.now();
		await answer(text);
		// The clock of the runtime goes on when something waits.
		await scheduler.wait(0);
		return performance.now() - start;
	};

	it("takes no more time than its length asks for", { timeout: 60_000 }, async () => {
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
			{ numRuns: 10 },
		);
	});
});
