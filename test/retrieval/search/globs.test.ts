/** Patterns of paths. The expected values are those of micromatch 4 for the same patterns. */
import { describe, expect, it } from "vitest";
import { alternativesOf, matchesGlob } from "../../../src/retrieval/search/sources/globs.ts";

describe("a pattern", () => {
	it.each<[string, string, boolean]>([
		["*.md", "a.md", true],
		["*.md", "docs/a.md", false],
		["**/*.md", "a.md", true],
		["**/*.md", "docs/deep/a.md", true],
		["docs/**", "docs/a/b.md", true],
		["docs/**/a.md", "docs/a.md", true],
		["docs/**/a.md", "docs/xa.md", false],
		["docs/?.md", "docs/a.md", true],
		["docs/?.md", "docs/ab.md", false],
		["docs/*/a.md", "docs/x/y/a.md", false],
		["{docs,guides}/*.{md,txt}", "guides/a.txt", true],
		["{docs,guides}/*.{md,txt}", "other/a.txt", false],
		["a.b", "axb", false],
		["", "a", false],
	])("%s and %s: %s", (pattern, text, expected) => expect(matchesGlob([pattern], text)).toBe(expected));

	it("with other syntax or too many alternatives is refused", () => {
		for (const pattern of ["(a+)+$", "[a-z]*", "!a", "a@(b)", "{a,b", "{a,b}".repeat(7)])
			expect(alternativesOf(pattern)).toBeUndefined();
		expect(alternativesOf("{a,{b,c}}/*")).toEqual(["a/*", "b/*", "c/*"]);
	});

	it("takes time in proportion to its length and the text's", () => {
		// By backtracking this takes longer than the age of the universe.
		expect(matchesGlob(["**a".repeat(80)], "a".repeat(79).padEnd(1_000, "b"))).toBe(false);
	});
});
