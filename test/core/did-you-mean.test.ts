import { describe, expect, it } from "vitest";
import { didYouMean } from "../../src/core/did-you-mean.ts";

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
