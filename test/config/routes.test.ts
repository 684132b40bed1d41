import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matches } from "../../src/config/routes.ts";
import { configure } from "../../src/config.ts";

/** Which pattern's model answers. */
function served(patterns: readonly string[], id: string): string | undefined {
	const ROUTES = Object.fromEntries(
		patterns.map((pattern, i) => [pattern, [{ backend: "simulator", model: `#${i}` }]]),
	);
	const model = configure({ ROUTES }).routing.find(id)?.targets[0]?.model;
	return model === undefined ? undefined : patterns[Number(model.slice(1))];
}

describe("RouteTable", () => {
	it.each([
		["an exact id before any pattern", ["*", "@cf/meta/*", "@cf/meta/x"], "@cf/meta/x", "@cf/meta/x"],
		["the longest literal part", ["*", "@cf/*", "@cf/meta/*"], "@cf/meta/x", "@cf/meta/*"],
		["wherever the stars are", ["@cf/*", "*-instruct-fp8"], "@cf/meta/llama-instruct-fp8", "*-instruct-fp8"],
		["of two as long, the first written", ["b*", "*a", "a*"], "aa", "*a"],
		["everything by a lone star", ["@cf/*", "*"], "llama3.2", "*"],
		["nothing where nothing fits", ["@cf/*"], "@hf/x", undefined],
	])("takes %s", (_, patterns, id, expected) => {
		expect(served(patterns, id)).toBe(expected);
	});

	it("asks every target of a route, in order, for the caller's model where none is named", () => {
		const { routing } = configure({
			ROUTES: { "@cf/*": [{ backend: "simulator", model: "big" }, { backend: "simulator" }] },
		});
		expect(routing.find("@cf/meta/x")?.targets.map(({ model }) => model)).toEqual(["big", "@cf/meta/x"]);
	});

	it("finds no route by a name that objects inherit", () => {
		expect(configure({}).routing.find("constructor")).toBeUndefined();
	});
});

describe("matches", () => {
	it("agrees with the regular expression that a pattern stands for", () => {
		const text = fc.string({ unit: fc.constantFrom("a", "b", "/", "."), maxLength: 12 });
		const pattern = fc.string({ unit: fc.constantFrom("a", "b", "/", ".", "*"), maxLength: 8 });
		fc.assert(
			fc.property(pattern, text, (pattern, id) => {
				const escaped = pattern.split("*").map((part) => part.replaceAll(".", "\\."));
				expect(matches(pattern, id)).toBe(new RegExp(`^${escaped.join(".*")}$`).test(id));
			}),
			{ numRuns: 2000 },
		);
	});

	it("is quick where a regular expression would not be", () => {
		const id = "a".repeat(100_000);
		expect(matches(`${"*a".repeat(50)}*b`, id)).toBe(false);
		expect(matches("*a*a*a*a*", id)).toBe(true);
	});
});
