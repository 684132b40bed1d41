import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Expression, type Ranges, readExpression } from "../../src/schemas/expression.ts";

const character = (sign: string): Expression => {
	const code = sign.codePointAt(0) ?? 0;
	return { kind: "character", ranges: [[code, code]], pick: sign };
};
const sequence = (...parts: Expression[]): Expression => ({ kind: "sequence", parts });
const repeat = (part: Expression, min: number, max: number): Expression => ({
	kind: "repeat",
	part,
	min,
	max,
});
const ENDLESS = Number.POSITIVE_INFINITY;

/** A tree without the sequences of one part that the reader may or may not make. */
const plain = (tree: Expression | undefined): Expression | undefined => {
	switch (tree?.kind) {
		case "sequence": {
			const parts = tree.parts.map(plain).filter((part) => part !== undefined);
			const [first] = parts;
			return parts.length === 1 ? first : { ...tree, parts };
		}
		case "choice":
			return { ...tree, options: tree.options.map(plain).filter((part) => part !== undefined) };
		case "repeat":
			return { ...tree, part: plain(tree.part) ?? tree.part };
		default:
			return tree;
	}
};

describe("what is read", () => {
	const [a, b, c] = [character("a"), character("b"), character("c")];
	it.each<[string, Expression]>([
		["a", a],
		["abc", sequence(a, b, c)],
		["", sequence()],
		["a|b", { kind: "choice", options: [a, b] }],
		["a(?:b|c)", sequence(a, { kind: "choice", options: [b, c] })],
		["(?<name>a)b", sequence(a, b)],
		["^a$", sequence({ kind: "assertion", sign: "^" }, a, { kind: "assertion", sign: "$" })],
		["\\ba\\B", sequence({ kind: "assertion", sign: "b" }, a, { kind: "assertion", sign: "B" })],
		["a*", repeat(a, 0, ENDLESS)],
		["a+", repeat(a, 1, ENDLESS)],
		["a?", repeat(a, 0, 1)],
		["a*?", repeat(a, 0, ENDLESS)],
		["a{3}", repeat(a, 3, 3)],
		["a{3,}", repeat(a, 3, ENDLESS)],
		["a{3,5}?", repeat(a, 3, 5)],
		["(a{2}){3}", repeat(repeat(a, 2, 2), 3, 3)],
		["\\n", character("\n")],
		["\\x41\\u0042\\u{43}", sequence(character("A"), character("B"), character("C"))],
		["\\ud83d\\ude00|😀", { kind: "choice", options: [character("😀"), character("😀")] }],
		["\\cA\\/\\.", sequence(character("\u0001"), character("/"), character("."))],
	])("%s", (source, tree) => expect(plain(readExpression(source))).toEqual(tree));
});

describe("what is not read", () => {
	it.each([
		"(?=a)",
		"(?!a)",
		"(?<=a)b",
		"(?<!a)b",
		"(a)\\1",
		"(?<n>a)\\k<n>",
		"(?i:a)",
		"(",
		"(a",
		"a)",
		"[a",
		"\\",
		"[a-\\d]",
		"\\u{",
		"\\p{Nonsense}",
		"\\p",
	])("%s", (source) => expect(readExpression(source)).toBeUndefined());

	it("more than 2,000 characters", () => {
		expect(readExpression("a".repeat(2_000))).toBeDefined();
		expect(readExpression("a".repeat(2_001))).toBeUndefined();
	});

	it("more than 50 levels, the expression itself included", () => {
		const nested = (levels: number) => `${"(".repeat(levels)}a${")".repeat(levels)}`;
		expect(readExpression(nested(49))).toBeDefined();
		expect(readExpression(nested(50))).toBeUndefined();
	});
});

describe("the characters of a class", { timeout: 30_000 }, () => {
	const isIn = (ranges: Ranges, code: number) => ranges.some(([from, to]) => from <= code && code <= to);
	const CODES = [
		...Array.from({ length: 0x180 }, (_, code) => code),
		...[0x1680, 0x2003, 0x2028, 0x2029, 0x3000, 0x4e2d, 0xfeff, 0xffff, 0x1f600, 0x10ffff],
	];
	const one = (source: string): Expression & { kind: "character" } => {
		const tree = plain(readExpression(source));
		if (tree?.kind !== "character") throw new Error(`${source} is no character`);
		return tree;
	};

	const member = fc.constantFrom(
		"a",
		"b",
		"z",
		"0",
		"-",
		"_",
		"é",
		"中",
		"😀",
		"\\d",
		"\\D",
		"\\w",
		"\\W",
		"\\s",
		"\\S",
		"\\n",
		"\\]",
		"\\x7f",
		"\\u00e9",
		"\\b",
		"a-f",
		"0-5",
		" -~",
		"\\x00-\\x1f",
		"à-ÿ",
	);
	const exact = fc.oneof(
		fc.constantFrom(".", "\\d", "\\W", "\\s", "\\S", "a", "\\t", "\\0"),
		fc
			.tuple(fc.constantFrom("[", "[^"), fc.array(member, { maxLength: 5 }))
			.map(([open, members]) => `${open}${members.join("").replace(/-$/, "")}]`),
	);

	const isExpression = (source: string): boolean => {
		try {
			return new RegExp(source, "u").source !== "";
		} catch {
			return false;
		}
	};

	it("are those that the runtime matches, and the one to write is one of them", () => {
		fc.assert(
			fc.property(exact.filter(isExpression), (source) => {
				const pattern = new RegExp(`^(?:${source})$`, "u");
				const { ranges, pick } = one(source);
				const matched = CODES.filter((code) => pattern.test(String.fromCodePoint(code)));
				expect(CODES.filter((code) => isIn(ranges, code))).toEqual(matched);
				if (ranges.length > 0) expect(pick).toMatch(pattern);
			}),
			{ numRuns: 150 },
		);
	});

	it("are all that a Unicode property may have, and none is to be written", () => {
		fc.assert(
			fc.property(
				fc.constantFrom("L", "Lu", "N", "P", "Script=Greek", "Letter", "ASCII", "Emoji"),
				fc.constantFrom("\\p{@}", "\\P{@}", "[\\p{@}]", "[^\\p{@}]", "[a\\P{@}]", "[^a\\p{@}0]"),
				(property, shape) => {
					const source = shape.replace("@", property);
					const pattern = new RegExp(`^${source}$`, "u");
					const { ranges, pick } = one(source);
					expect(pick).toBeUndefined();
					const matched = CODES.filter((code) => pattern.test(String.fromCodePoint(code)));
					expect(matched.filter((code) => !isIn(ranges, code))).toEqual([]);
				},
			),
		);
	});
});

it("reads any text to an end, and throws nothing", () => {
	const signs = fc.constantFrom(..."ab0()[]{}|*+?.^$\\-,:=!<>pudxk1 é😀".split(""));
	fc.assert(
		fc.property(fc.array(signs, { maxLength: 40 }), (parts) => {
			expect(() => readExpression(parts.join(""))).not.toThrow();
		}),
		{ numRuns: 500 },
	);
});
