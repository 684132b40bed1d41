import { describe, expect, it } from "vitest";
import * as z from "zod";
import { configure } from "../../src/config/index.ts";
import { formatPath, Problems } from "../../src/config/problems.ts";
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

describe("the lines of mistakes", () => {
	const linesOf = (work: () => void): string[] => {
		try {
			work();
		} catch (error) {
			return String(error).split("\n").slice(1);
		}
		return [];
	};

	it("name an absent field of any type once, in words", () => {
		const shadow = { name: "a", share: 1 };
		expect(
			linesOf(() => configure({ ROUTES: { m: { targets: [{ backend: "simulator" }], shadow } } })),
		).toEqual(['  ROUTES.m.shadow.backend: expected "simulator", found nothing']);
		const problems = new Problems();
		problems.parse(z.object({ a: z.unknown() }), {}, ["LIMITS"]);
		expect(linesOf(() => problems.throwIfAny())).toEqual(["  LIMITS.a: expected a value, found nothing"]);
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
