import { describe, expect, it } from "vitest";
import { ValidationCost } from "../../src/schemas/validation-cost.ts";

/** Steps of one visit. */
const VISIT = 300;
const CONDITIONS = ["not", "if", "then", "else"];
const UNBOUNDED = Number.POSITIVE_INFINITY;

const costs = (targets: Record<string, object> = {}) =>
	new ValidationCost({
		target: ({ $ref = "" }) => targets[$ref],
		pattern: (source, text) => source.length * 1_000 + text.length,
	});
const costOf = (value: unknown, schema: unknown, targets?: Record<string, object>) =>
	costs(targets).of(value, schema);

describe("a visit", () => {
	it.each<[string, unknown, unknown, number]>([
		["to true", 1, true, VISIT],
		["to an empty schema", 1, {}, VISIT],
		["with members to compare with", "a", { enum: ["a", "b", "c"] }, VISIT + 3 + 1],
		["with names to look for", {}, { required: ["a", "b"], properties: { a: {}, b: {} } }, VISIT + 2 + 2],
		["to a text", "abcde", {}, VISIT + 5],
		["to a text with an expression", "abcde", { pattern: "^a" }, VISIT + 2_000 + 5 + 5],
		["to a list, its members apart", [1, 2], {}, VISIT],
		["to members", [1, 2, 3], { items: {} }, VISIT + 3 * VISIT],
		["to members by place", [1, 2, 3], { prefixItems: [{}, {}] }, VISIT + 2 * VISIT],
		["to members that must differ", [1, 2, 3], { uniqueItems: true }, VISIT + 9],
		[
			"to properties",
			{ a: 1, b: 2 },
			{ properties: { a: {} }, additionalProperties: {} },
			VISIT + 1 + 3 * VISIT,
		],
		["to names", { ab: 1 }, { propertyNames: {} }, VISIT + VISIT + 2],
		["by expressions", { ab: 1 }, { patternProperties: { a: {}, b: {} } }, VISIT + 2 * (1_000 + 2 + VISIT)],
		[
			"to all that may apply",
			1,
			{
				allOf: [{}, {}],
				anyOf: [{}],
				oneOf: [{}],
				...Object.fromEntries(CONDITIONS.map((key) => [key, {}])),
			},
			9 * VISIT,
		],
	])("%s", (_, value, schema, steps) => expect(costOf(value, schema)).toBe(steps));

	it("follows a reference", () => {
		expect(costOf(1, { $ref: "a" }, { a: { $ref: "b" }, b: {} })).toBe(3 * VISIT);
		expect(costOf(1, { $ref: "nowhere" })).toBe(VISIT);
	});
});

it("counts a repeated reference twice and visits it once", () => {
	const targets: Record<string, object> = { d60: {} };
	for (let nth = 0; nth < 60; nth++) {
		const next = { $ref: `d${nth + 1}` };
		targets[`d${nth}`] = { allOf: [next, { ...next }] };
	}
	// More visits than any validator can make, counted in a few hundred steps.
	expect(costOf(1, { $ref: "d0" }, targets)).toBeGreaterThan(2 ** 60);
	expect(costOf(1, { $ref: "d0" }, targets)).toBeLessThan(UNBOUNDED);
});

describe("an unbounded cost", () => {
	it("a cycle that stays at one part of the value", () => {
		expect(costOf(1, { $ref: "a" }, { a: { anyOf: [{}, { $ref: "a" }] } })).toBe(UNBOUNDED);
		const self: Record<string, unknown> = {};
		self.not = self;
		expect(costOf(1, self)).toBe(UNBOUNDED);
	});

	it("not a cycle that descends into the value", () => {
		const tree = { properties: { child: { $ref: "tree" } } };
		expect(costOf({ child: { child: {} } }, { $ref: "tree" }, { tree })).toBe(7 * VISIT - VISIT + 3);
	});

	it("more than 250 levels", () => {
		const nested = (levels: number): object => (levels === 0 ? {} : { allOf: [nested(levels - 1)] });
		expect(costOf(1, nested(250))).toBe(251 * VISIT);
		expect(costOf(1, nested(251))).toBe(UNBOUNDED);
	});

	it("more than 300,000 visits", () => {
		const members = (count: number) => Array.from({ length: count }, (_, nth) => nth);
		const items = { anyOf: [{}, {}, {}, {}, {}] };
		expect(costOf(members(40_000), { items })).toBeLessThan(UNBOUNDED);
		expect(costOf(members(60_000), { items })).toBe(UNBOUNDED);
	});
});
