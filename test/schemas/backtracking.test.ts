import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stepsOf } from "../../src/schemas/backtracking.ts";
import { type Expression, readExpression } from "../../src/schemas/expression.ts";
import { Pattern } from "../../src/schemas/pattern.ts";

const treeOf = (source: string): Expression => {
	const tree = readExpression(source);
	if (!tree) throw new Error(`${source} is not read`);
	return tree;
};

describe("how the steps grow with the text", () => {
	it.each<[string, number]>([
		["^abc$", 0],
		["^[a-z]{3}-\\d{4}$", 0],
		["^a*b$", 1],
		["^\\d+(?:\\.\\d+)?$", 1],
		["^[^@]+@[^@]+\\.[a-z]{2,}$", 2],
		["abc", 1],
		["abc*", 1],
		["^(?:a|b)*c$", 1],
		["^(?:ab)*c$", 1],
		["^a*a*b$", 2],
		["^a*a*a*b$", 3],
		["a*b", 2],
		["^a*b*c$", 1],
		["^[a-z0-9]+(?:-[a-z0-9]+)*$", 1],
		["^\\p{Lu}\\p{Ll}+(?: \\p{Lu}\\p{Ll}+)*$", 1],
	])("%s: to the power of %d", (source, power) => {
		const steps = stepsOf(treeOf(source));
		const growth = (steps?.(2e6) ?? 0) / (steps?.(1e6) ?? 0);
		expect(Math.round(Math.log2(growth))).toBe(power);
	});

	it.each([
		"^(a+)+b$",
		"^(a|a)*b$",
		"^(a*)*b$",
		"^(?:a|ab|b)*c$",
		"^(?:\\w|\\d)+!$",
		"^(?:.*,)*x$",
		"^(?:x+x+)+y$",
		"^a*a*a*a*a*a*b$",
		"^([a-zA-Z0-9]+\\s?)+x$",
		"^(?:a?){100}b",
		"^(?:a?b?)*c",
		// At the end of an expression too, an attempt may take long.
		"^x(?:(?:a+)+b)*",
		`${"(".repeat(40)}a${")*".repeat(40)}b`,
	])("%s: not bounded", (source) => expect(stepsOf(treeOf(source))).toBeUndefined());
});

it.each([
	["a date", "^\\d{4}-\\d{2}-\\d{2}$"],
	["a time", "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(?:\\.\\d+)?(?:Z|[+-]\\d{2}:\\d{2})$"],
	["an e-mail address", "^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\\.[a-zA-Z]{2,}$"],
	["a UUID", "^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"],
	["a list of names", "^(?:red|green|blue|grey|gold)$"],
	["a telephone number", "^\\+?\\(?\\d{1,3}\\)?[-. ]?\\d{3}[-. ]?\\d{4}$"],
	["an IPv4 address", "^(?:(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)\\.){3}(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)$"],
	["a name in an address", "^[a-z0-9]+(?:-[a-z0-9]+)*$"],
	["a version", "^v?\\d+\\.\\d+\\.\\d+(?:-[\\w.]+)?$"],
	["a link", "^https?://[\\w.-]+(?::\\d+)?(?:/\\S*)?$"],
])("runs on texts of 500 characters: %s", (_, source) => {
	expect(new Pattern(source).isCheap(500)).toBe(true);
});

/** The characters that a backtracking engine compares until it has a match or gives up, counted up to a limit. */
function comparisons(expression: Expression, text: string): number {
	let steps = 0;
	const match = (node: Expression, at: number, go: (at: number) => boolean): boolean => {
		if (steps > 200_000) return true;
		switch (node.kind) {
			case "assertion":
				return node.sign === "^" ? at === 0 && go(at) : at === text.length && go(at);
			case "character": {
				steps++;
				const code = text.codePointAt(at) ?? -1;
				return node.ranges.some(([from, to]) => from <= code && code <= to) && go(at + 1);
			}
			case "sequence": {
				const from = (nth: number, place: number): boolean => {
					const part = node.parts[nth];
					return part ? match(part, place, (next) => from(nth + 1, next)) : go(place);
				};
				return from(0, at);
			}
			case "choice":
				return node.options.some((option) => match(option, at, go));
			case "repeat": {
				const iterate = (count: number, place: number): boolean =>
					(count < node.max &&
						match(
							node.part,
							place,
							(next) => (next > place || count < node.min) && iterate(count + 1, next),
						)) ||
					(count >= node.min && go(place));
				return iterate(0, at);
			}
			default:
				return node satisfies never;
		}
	};
	for (let start = 0; start <= text.length; start++) if (match(expression, start, () => true)) break;
	return steps;
}

const sources = fc.letrec<{ any: string }>((tie) => ({
	any: fc.oneof(
		{ depthSize: "medium", withCrossShrink: true },
		fc.constantFrom("a", "b", "c", "[ab]", ".", "[^a]", "\\w"),
		fc.tuple(tie("any"), tie("any")).map(([one, other]) => `${one}${other}`),
		fc.tuple(tie("any"), tie("any")).map(([one, other]) => `(?:${one}|${other})`),
		fc
			.tuple(tie("any"), fc.constantFrom("*", "+", "?", "{2}", "{1,3}", "{2,}"))
			.map(([one, count]) => `(?:${one})${count}`),
	),
}));

it("never counts fewer steps than an engine needs", () => {
	let bounded = 0;
	fc.assert(
		fc.property(
			sources.any,
			fc.boolean(),
			fc.constantFrom("!", "$", ""),
			fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 16 }),
			(source, isAnchored, end, letters) => {
				const tree = treeOf(`${isAnchored ? "^" : ""}${source}${end}`);
				const most = stepsOf(tree)?.(letters.length);
				if (most === undefined) return;
				bounded++;
				expect(comparisons(tree, letters.join(""))).toBeLessThanOrEqual(most);
			},
		),
		{ numRuns: 2_000 },
	);
	expect(bounded).toBeGreaterThan(500);
});
