import { describe, expect, it } from "vitest";
import { contextFor } from "../../../src/backends/ollama/context.ts";
import type { ChatInput } from "../../../src/tasks/text-generation/types.ts";
import { MODEL, TARGET } from "../upstream.ts";

/** Each word with its space is a token by our own count. */
const asked = (words: number, more: Partial<ChatInput> = {}): ChatInput => ({
	messages: words > 0 ? [{ role: "user", content: "cat ".repeat(words) }] : [],
	stream: false,
	...more,
});

describe("contextFor", () => {
	it.each([
		["a short prompt: the server's own", asked(10), undefined],
		["a short prompt with a long answer", asked(10, { max_tokens: 5_000 }), 8_192],
		["a long prompt", asked(10_000), 16_384],
		["a longer one", asked(30_000, { max_tokens: 100 }), 65_536],
		// Four tokens and a quarter of them.
		["the size of the server", asked(0, { prompt: "cat cat cat cat", max_tokens: 4_091 }), undefined],
		["one token more", asked(0, { prompt: "cat cat cat cat", max_tokens: 4_092 }), 8_192],
	])("for %s", (_, input, size) => {
		expect(contextFor(input, TARGET, MODEL)).toBe(size);
	});

	it("is at most the model's window, or 131,072 if unknown", () => {
		expect(contextFor(asked(10_000), TARGET, { ...MODEL, contextWindow: 12_000 })).toBe(12_000);
		expect(contextFor(asked(200_000), TARGET, MODEL)).toBe(131_072);
	});

	it("is num_ctx if it is set", () => {
		expect(contextFor(asked(10), { ...TARGET, numCtx: 32_768 }, MODEL)).toBe(32_768);
	});
});
