import { expect, it } from "vitest";
import { EstimatedUsage } from "../../../src/gateways/usage/estimated-usage.ts";

/** 10 tokens of OpenAI's vocabularies and of Anthropic's and Llama's, within one. */
const SENTENCE = "The quick brown fox jumps over the lazy dog. ";
const within = (tokens: number, least: number, most: number): void => {
	expect(tokens).toBeGreaterThanOrEqual(least);
	expect(tokens).toBeLessThanOrEqual(most);
};

it.each<[string, (text: string) => Record<string, unknown>]>([
	[
		"OpenAI's chat",
		(content) => ({ id: "c1", choices: [{ index: 0, delta: { role: "assistant", content } }] }),
	],
	["reasoning", (reasoning_content) => ({ choices: [{ index: 0, delta: { reasoning_content } }] })],
	["OpenAI's completions", (text) => ({ object: "text_completion", choices: [{ index: 0, text }] })],
	["Responses", (delta) => ({ type: "response.output_text.delta", item_id: "m1", delta })],
	["Anthropic's Messages", (text) => ({ type: "content_block_delta", delta: { type: "text_delta", text } })],
	["Gemini", (text) => ({ candidates: [{ content: { role: "model", parts: [{ text }] } }] })],
	["Cohere", (text) => ({ type: "content-delta", delta: { message: { content: { text } } } })],
])("the text of a stream of %s is counted once", (_, event) => {
	const usage = new EstimatedUsage({});
	// As a model sends it: a word in each event.
	for (const word of SENTENCE.repeat(20).split(/(?<= )/)) expect(usage.add(event(word))).toBe(true);
	// Responses repeat the complete text.
	expect(usage.add({ type: "response.output_text.done", text: SENTENCE.repeat(20) })).toBe(false);
	expect(usage.usage).toMatchObject({ cachedTokens: 0, estimated: true });
	within(usage.usage.outputTokens, 170, 240);
});

it("calls of tools are counted, and padding, ids and reasons are not", () => {
	const usage = new EstimatedUsage({});
	const call = {
		index: 0,
		id: "call_123456789",
		type: "function",
		function: { name: "weather", arguments: '{"city":' },
	};
	expect(usage.add({ choices: [{ delta: { tool_calls: [call] } }], obfuscation: SENTENCE })).toBe(true);
	const before = usage.usage.outputTokens;
	within(before, 3, 9);
	expect(usage.add({ choices: [{ delta: {}, finish_reason: "stop" }], obfuscation: SENTENCE })).toBe(false);
	expect(usage.usage.outputTokens).toBe(before);
});

it("the request is counted with its messages, and without its media", () => {
	const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(100_000)}` } };
	const request = {
		model: "gpt-5",
		messages: [
			{ role: "system", content: SENTENCE },
			{ role: "user", content: [{ type: "text", text: SENTENCE }, image] },
		],
	};
	// Two sentences, and the template of two messages.
	within(new EstimatedUsage(request).usage.inputTokens, 20, 40);
});
