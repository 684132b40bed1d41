/** Which models of the catalogue a route serves, as the gateway decides it. */
import { describe, expect, it } from "vitest";
import { matches, servedBy } from "../../console/src/engines/patterns.ts";
import { matches as gatewayMatches } from "../../src/pipeline/route.ts";

const MODELS = ["@cf/meta/llama", "@cf/meta/llama-guard", "@cf/qwen/qwq", "openai/gpt"];

describe("a pattern", () => {
	it.each([
		"*",
		"@cf/*",
		"@cf/meta/*",
		"*/llama*",
		"@cf/*/q*q",
		"openai/gpt",
		"@cf/meta/llama",
		"*llama",
		"a+*",
	])("%s matches as in the gateway", (pattern) => {
		for (const model of [...MODELS, "a+b", "aab", "@cf/", "llama"])
			expect(matches(pattern, model), model).toBe(gatewayMatches(pattern, model));
	});

	it("leaves a model to a route that is exact, or has more literal characters", () => {
		const patterns = ["*", "@cf/*", "@cf/meta/*", "@cf/meta/llama"];
		expect(servedBy("*", patterns, MODELS)).toEqual(["openai/gpt"]);
		expect(servedBy("@cf/*", patterns, MODELS)).toEqual(["@cf/qwen/qwq"]);
		expect(servedBy("@cf/meta/*", patterns, MODELS)).toEqual(["@cf/meta/llama-guard"]);
	});
});
