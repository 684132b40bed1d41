import { describe, expect, it } from "vitest";
import { Scales } from "../../src/schemas/scales.ts";

/** Steps of one visit. */
const VISIT = 300;
const CONDITIONS = ["not", "if", "then", "else"];
const ENDLESS = Number.POSITIVE_INFINITY;

const scales = (targets: Record<string, object> = {}) =>
	new Scales({
		target: ({ $ref = "" }) => targets[$ref],
		pattern: (source, text) => source.length * 1_000 + text.length,
	});
const weigh = (value: unknown, schema: unknown, targets?: Record<string, object>) =>
	scales(targets).weigh(value, schema);

describe("a visit", () => {
	it.each<[string, unknown, unknown, number]>([
		["to true", 1, true, VISIT],
		["to nothing said", 1, {}, VISIT],
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
	])("%s", (_, value, schema, steps) => expect(weigh(value, schema)).toBe(steps));

	it("follows a reference", () => {
		expect(weigh(1, { $ref: "a" }, { a: { $ref: "b" }, b: {} })).toBe(3 * VISIT);
		expect(weigh(1, { $ref: "nowhere" })).toBe(VISIT);
	});
});

it("counts what comes twice twice, and looks at it once", () => {
	const targets: Record<string, object> = { d60: {} };
	for (let nth = 0; nth < 60; nth++) {
		const next = { $ref: `d${nth + 1}` };
		targets[`d${nth}`] = { allOf: [next, { ...next }] };
	}
	// More visits than anybody can make, counted in some hundred steps.
	expect(weigh(1, { $ref: "d0" }, targets)).toBeGreaterThan(2 ** 60);
	expect(weigh(1, { $ref: "d0" }, targets)).toBeLessThan(ENDLESS);
});

describe("what has no end", () => {
	it("a circle in which no part of the value is left behind", () => {
		expect(weigh(1, { $ref: "a" }, { a: { anyOf: [{}, { $ref: "a" }] } })).toBe(ENDLESS);
		const self: Record<string, unknown> = {};
		self.not = self;
		expect(weigh(1, self)).toBe(ENDLESS);
	});

	it("no circle that goes into the value", () => {
		const tree = { properties: { child: { $ref: "tree" } } };
		expect(weigh({ child: { child: {} } }, { $ref: "tree" }, { tree })).toBe(7 * VISIT - VISIT + 3);
	});

	it("more than 250 levels", () => {
		const nested = (levels: number): object => (levels === 0 ? {} : { allOf: [nested(levels - 1)] });
		expect(weigh(1, nested(250))).toBe(251 * VISIT);
		expect(weigh(1, nested(251))).toBe(ENDLESS);
	});

	it("more than 300,000 visits", () => {
		const members = (count: number) => Array.from({ length: count }, (_, nth) => nth);
		const items = { anyOf: [{}, {}, {}, {}, {}] };
		expect(weigh(members(40_000), { items })).toBeLessThan(ENDLESS);
		expect(weigh(members(60_000), { items })).toBe(ENDLESS);
	});
});
