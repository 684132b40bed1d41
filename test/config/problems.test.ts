import { describe, expect, it } from "vitest";
import { formatPath } from "../../src/config/problems.ts";
import { list } from "../../src/schemas/explain.ts";

describe("formatPath", () => {
	it.each([
		[["LIMITS"], "LIMITS"],
		[["ROUTES", "@cf/meta/*", 0, "backend"], 'ROUTES["@cf/meta/*"][0].backend'],
		[["BACKENDS", "ollama", "headers", "x-key"], 'BACKENDS.ollama.headers["x-key"]'],
		[["BACKENDS", 'a"b'], 'BACKENDS["a\\"b"]'],
		[["BACKENDS", "0"], 'BACKENDS["0"]'],
	] as const)("%j is %s", (path, text) => {
		expect(formatPath(path)).toBe(text);
	});
});

describe("list", () => {
	it("reads as a sentence does", () => {
		expect([[], ["a"], ["a", "b"], ["a", "b", "c"]].map((items) => list(items, "or"))).toEqual([
			"",
			"a",
			"a or b",
			"a, b or c",
		]);
	});
});
