import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonOutlines } from "../../src/streams/json-outline.ts";
import { pieces } from "./pieces.ts";

/** The outlines in the text, cut at the places. */
function outlinesOf(text: string, places: readonly number[] = []): unknown[] {
	const found: unknown[] = [];
	const outlines = new JsonOutlines((outline) => found.push(outline));
	for (const piece of pieces(text, places)) outlines.push(piece);
	outlines.end();
	return found;
}

const bytesIn = (text: string): number => new TextEncoder().encode(JSON.stringify(text)).length - 2;
const shortened = (text: string): string => (bytesIn(text) > 256 ? "" : text);

/** What the outline of a parsed value must be. */
function expected(value: unknown): unknown {
	if (Array.isArray(value)) return [];
	if (typeof value === "string") return shortened(value);
	if (typeof value !== "object" || value === null) return value;
	const fields = Object.entries(value).map(([name, item]) => [shortened(name), expected(item)]);
	return Object.fromEntries(fields);
}

const part = fc.oneof(
	fc.string({ unit: "binary", maxLength: 20 }),
	fc.constantFrom(
		'"',
		"\\",
		'\\"',
		"\n",
		"]}",
		"é€😀",
		...[60, 70, 256, 257].map((length) => "x".repeat(length)),
	),
);
const text = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(""));
const object = fc.dictionary(
	text,
	fc.letrec((tie) => ({
		value: fc.oneof(
			{ depthSize: "small" },
			text,
			fc.double({ noNaN: true, noDefaultInfinity: true }),
			fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { maxLength: 20 }),
			fc.boolean(),
			fc.constant(null),
			fc.array(tie("value"), { maxLength: 3 }),
			fc.dictionary(text, tie("value"), { maxKeys: 3 }),
		),
	})).value,
	{ maxKeys: 5 },
);

describe("JsonOutlines", () => {
	it("keeps all fields but the items of arrays and long texts, for any object and any pieces", () => {
		fc.assert(
			fc.property(object, fc.array(fc.nat(2_000)), fc.constantFrom(0, 2), (value, places, indent) => {
				const sent = JSON.stringify(value, null, indent);
				expect(outlinesOf(sent, places)).toEqual([expected(JSON.parse(sent))]);
			}),
		);
	});

	it.each([
		['{"a":1}\n{"a":2}\n', [{ a: 1 }, { a: 2 }]],
		['[{"a":1}\n,\r\n{"a":[{"b":2}]}]', [{ a: 1 }, { a: [] }]],
		['\ufeff {"a":1}', [{ a: 1 }]],
		['event: x\ndata: {"a":{"b":"}"}}\n\n', [{ a: { b: "}" } }]],
		['{"a":01}{"b":2}', [{ b: 2 }]],
		['{"a":[}{"b":2}', []],
		['{"a":{"b":2}', []],
		["true", []],
		["", []],
	])("finds the objects in %j", (sent, found) => {
		expect(outlinesOf(sent)).toEqual(found);
	});

	it("finds the end of texts and arrays of any length", () => {
		for (let length = 0; length < 400; length++) {
			const long = "x".repeat(length);
			const value = { a: [`${long}\n"]}`, Array(length).fill(1), { b: long }], c: `${long}\n"`, d: 1 };
			expect(outlinesOf(JSON.stringify(value))).toEqual([{ a: [], c: shortened(value.c), d: 1 }]);
		}
	});

	it("reads an object after one that ended early", () => {
		const found: unknown[] = [];
		const outlines = new JsonOutlines((outline) => found.push(outline));
		for (const text of ['{"a":["\\', '{"b":1}']) {
			for (const piece of pieces(text, [])) outlines.push(piece);
			outlines.end();
		}
		expect(found).toEqual([{ b: 1 }]);
	});

	it("skips an object with too many fields, and keeps the next one", () => {
		const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, nth) => [`field-${nth}`, nth]));
		expect(outlinesOf(`${JSON.stringify(many)}{"a":1}`)).toEqual([{ a: 1 }]);
		const large = { images: ["A".repeat(500_000)], text: "B".repeat(500_000), usage: { n: 1 } };
		expect(outlinesOf(JSON.stringify(large), [70_000, 600_000])).toEqual([
			{ images: [], text: "", usage: { n: 1 } },
		]);
	});

	it("never throws for any bytes", () => {
		fc.assert(
			fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (chunks) => {
				const outlines = new JsonOutlines(() => {});
				for (const chunk of chunks) outlines.push(chunk);
				outlines.end();
			}),
		);
	});
});
