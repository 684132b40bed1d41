import { describe, expect, it } from "vitest";
import { didYouMean, formatPath, list } from "../../src/config/problems.ts";

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

describe("didYouMean", () => {
	it.each([
		["olama", ["vllm", "ollama"], "ollama"],
		["OLLAMA", ["ollama"], "ollama"],
		["headres", ["headers"], "headers"],
		["urlss", ["url", "urls"], "urls"],
		["modle", ["backend", "model"], "model"],
		["ab", ["ba"], undefined],
		["gpu", ["ollama"], undefined],
		// A guess at two letters would be any other two.
		["a", ["b"], undefined],
		["", ["url"], undefined],
	])("%j among %j: %j", (name, candidates, guess) => {
		expect(didYouMean(name, candidates)).toBe(guess === undefined ? "" : `; did you mean "${guess}"?`);
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
