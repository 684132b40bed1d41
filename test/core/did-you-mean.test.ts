import { describe, expect, it } from "vitest";
import { didYouMean, didYouMeanField } from "../../src/core/did-you-mean.ts";

const INSTRUCT = "@cf/meta/llama-3.2-1b-instruct";

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
		// A name without its author or its end, with other marks, or with an end of its own.
		["llama-3.2-1b", ["@cf/meta/llama-3.2-1b-instruct", "@cf/meta/llama-3.2-3b-instruct"], INSTRUCT],
		["llama3.2:1b", ["@cf/meta/llama-3.2-3b-instruct", "@cf/meta/llama-3.2-1b-instruct"], INSTRUCT],
		["meta/llama-3.2-1b-instruct", ["@cf/meta/llama-3.2-1b-instruct"], INSTRUCT],
		["llama-3.2-1b-instruct-q4_k_m.gguf", ["llama-3.2-1b-instruct"], "llama-3.2-1b-instruct"],
		["instruct", ["@cf/meta/llama-3.2-1b-instruct-fp8", "@cf/meta/llama-3.2-1b-instruct"], INSTRUCT],
		// A misspelled name comes before a longer one.
		["timeout", ["timeout_ms", "timeouts"], "timeouts"],
		// The middle of a word is no part, and neither are two letters.
		["lama", ["@cf/meta/ollamas-of-peru"], undefined],
		["@c", ["@cf/meta/llama"], undefined],
		["gpt-4o-mini", ["@cf/openai/gpt-oss-20b", "gp"], undefined],
	])("%j among %j: %j", (name, candidates, guess) => {
		expect(didYouMean(name, candidates)).toBe(guess === undefined ? "" : `; did you mean "${guess}"?`);
	});
});

describe("didYouMeanField", () => {
	const ROUTE = [
		"targets",
		"shadow",
		"timeouts",
		"retries",
		"hedge_ms",
		"coalesce_ms",
		"sticky",
		"passthrough",
		"strict",
	];

	it.each([
		["retry", ROUTE, "retries"],
		["max_retries", ROUTE, "retries"],
		["passthru", ROUTE, "passthrough"],
		["timeout_ms", ROUTE, "timeouts"],
		["coalescing", ROUTE, "coalesce_ms"],
		["target", ROUTE, "targets"],
		["discovery", ["replicas", "discover"], "discover"],
		["queue_size", ["max_requests", "queue"], "queue"],
		["limit", ["live", "list"], undefined],
		["total", ["tokens", "tools"], undefined],
		["fallback", ROUTE, undefined],
		["retry ".repeat(200_000), ROUTE, undefined],
		["", ROUTE, undefined],
	])("%j among %j: %j", (name, fields, guess) => {
		expect(didYouMeanField(name, fields)).toBe(guess === undefined ? "" : `; did you mean "${guess}"?`);
	});
});
