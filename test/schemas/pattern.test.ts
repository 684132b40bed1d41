import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Pattern } from "../../src/schemas/pattern.ts";

describe("an expression that is cheap", () => {
	const SOURCES = [
		"^[a-z]+$",
		"\\d{4}-\\d{2}",
		"^(?:red|green|blue)$",
		"^\\S+@\\S+\\.\\S+$",
		"^$",
		"é|中|😀",
		"^.{2,5}$",
		"(?<year>\\d+)",
	];
	const text = fc.oneof(
		fc.string({ unit: "grapheme", maxLength: 12 }),
		fc
			.array(fc.constantFrom("a", "z", "red", "1", "2024-05", "@", ".", " ", "é", "\n"), { maxLength: 8 })
			.map((parts) => parts.join("")),
	);

	it("matches as the runtime does", () => {
		fc.assert(
			fc.property(fc.constantFrom(...SOURCES), text, (source, said) => {
				const pattern = new Pattern(source);
				expect(pattern.isCheap(said.length)).toBe(true);
				expect(pattern.matches(said)).toBe(new RegExp(source, "u").test(said));
			}),
			{ numRuns: 500 },
		);
	});

	it("may be so for short texts alone", () => {
		const pattern = new Pattern("^a*a*a*b$");
		expect(pattern.matches("aab")).toBe(true);
		expect(pattern.matches("a".repeat(50))).toBe(false);
		expect(pattern.isCheap(10_000)).toBe(false);
		expect(pattern.matches("a".repeat(10_000))).toBeUndefined();
		const lengths = Array.from({ length: 400 }, (_, length) => length);
		const first = lengths.findIndex((length) => !pattern.isCheap(length));
		expect(first).toBeGreaterThan(50);
		expect(lengths.slice(first).some((length) => pattern.isCheap(length))).toBe(false);
		expect(pattern.matches("a".repeat(first - 1))).toBe(false);
		expect(pattern.matches("a".repeat(first))).toBeUndefined();
	});

	it("takes more steps for longer texts", () => {
		const pattern = new Pattern("^a*b$");
		expect(pattern.steps(0)).toBeGreaterThan(0);
		expect(pattern.steps(2_000)).toBeGreaterThan(pattern.steps(1_000));
		expect(pattern.steps(2_000)).toBeLessThan(3 * pattern.steps(1_000));
	});
});

it.each(["^(a+)+$!", "^(a|a)*b", "(?=a)b", "(a)\\1", "a".repeat(2_001)])(
	"does not run %.20s at any length",
	(source) => {
		const pattern = new Pattern(source);
		expect(pattern.steps(0)).toBe(Number.POSITIVE_INFINITY);
		expect(pattern.isCheap(0)).toBe(false);
		expect(pattern.matches("")).toBeUndefined();
	},
);

it.each(["(", "[z-a]", "a{2,1}", "\\p{Nonsense}", "*"])(
	"costs nothing and matches nothing where it is none: %s",
	(source) => {
		const pattern = new Pattern(source);
		expect(pattern.steps(1e9)).toBe(0);
		expect(pattern.isCheap(1e9)).toBe(true);
		expect(pattern.matches("a")).toBeUndefined();
	},
);

it("does not evaluate the excluded parts", () => {
	expect(new Pattern("^a$", false).matches("a")).toBeUndefined();
	expect(new Pattern("^a$", true).matches("a")).toBe(true);
});
