import { describe, expect, it } from "vitest";
import { openai } from "../../../src/backends/openai/index.ts";
import { descriptionIn } from "../../../src/backends/transport/product-message.ts";
import type { ChatInput } from "../../../src/tasks/text-generation/types.ts";
import { askOf } from "../ask.ts";
import { failureOf, json } from "../upstream.ts";

const ID = "1d2b1f3e-95a5-4f0e-8a3a-6c0b8a1c2d3e";

describe("the description in a message of the product", () => {
	it.each([
		[`AiError: AiError: top_k must be positive (${ID})`, "top_k must be positive"],
		[`AiError: Upstream unavailable: no answer (${ID})`, "no answer"],
		["AiError: Bad input: Error: a: b", "Error: a: b"],
		["AiError: Something: else", "Something: else"],
		// Of an engine: the names are words of its own.
		["Timeout: 5 is too short", "Timeout: 5 is too short"],
		[`no file (${ID})`, `no file (${ID})`],
	])("'%s' is '%s'", (message, description) => {
		expect(descriptionIn(message)).toBe(description);
	});
});

it("has no prefix of another gateway that is called as an engine of OpenAI's API", async () => {
	const HI: ChatInput = { messages: [{ role: "user", content: "Hi" }], stream: false };
	const message = `AiError: AiError: top_k must be positive (${ID})`;
	const ask = askOf(openai, { kind: "openai", url: "http://gateway/v1", model: "m" });
	const { answer } = ask("text-generation", HI, () => json({ error: { message, code: 8007 } }, 400));
	expect(await failureOf(answer)).toMatchObject({
		key: "engineRefused",
		description: "top_k must be positive",
	});
});
