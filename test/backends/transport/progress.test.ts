import { describe, expect, it } from "vitest";
import { type SentDelta, StreamProgress } from "../../../src/backends/transport/progress.ts";

const tokensOf = (...deltas: SentDelta[]): number => {
	const progress = new StreamProgress();
	for (const delta of deltas) progress.addDelta(delta);
	return progress.outputTokens;
};
/** Two words, and ten characters. */
const LONG = "long words";

describe("output tokens", () => {
	it("are the deltas with text, if these have at most 8 characters on average", () => {
		expect(tokensOf()).toBe(0);
		expect(tokensOf({ content: "12345678" })).toBe(1);
		expect(tokensOf({ content: "1234567" }, { content: "123456789" })).toBe(2);
		expect(tokensOf({ content: "a" }, { content: "" }, {}, { content: null }, { content: 7 })).toBe(1);
	});

	it("are estimated from longer text", () => {
		expect(tokensOf({ content: LONG })).toBe(2);
		expect(tokensOf({ content: LONG.repeat(10) }, { content: "a" })).toBe(12);
	});

	it("are the same for a long text in one delta and in many", () => {
		const deltas = Array.from({ length: 1_000 }, (): SentDelta => ({ content: ` ${LONG}` }));
		const tokens = tokensOf(...deltas);
		expect(tokens).toBe(tokensOf({ content: ` ${LONG}`.repeat(1_000) }));
		// Two words in each delta.
		expect(Math.abs(tokens / 2_000 - 1)).toBeLessThan(0.1);
	});

	it.each<[string, SentDelta]>([
		["content", { content: LONG }],
		["reasoning_content", { reasoning_content: LONG }],
		["reasoning", { reasoning: LONG }],
		["refusal", { refusal: LONG }],
		["the name of a call", { tool_calls: [{ function: { name: LONG } }] }],
		["the arguments of a call", { tool_calls: [{ function: { arguments: LONG } }] }],
		["several fields", { content: "long", reasoning_content: " words", reasoning: "is not counted" }],
		[
			"several calls",
			{
				tool_calls: [
					null,
					{ function: { name: "long", arguments: " wo" } },
					{},
					{ function: { name: "rds" } },
				],
			},
		],
		["a text and a call", { content: "long", tool_calls: [{ function: { name: " words" } }] }],
	])("count %s", (_, delta) => {
		expect(tokensOf(delta)).toBe(2);
	});

	it.each<SentDelta>([{ tool_calls: "x" }, { tool_calls: [] }, { tool_calls: [{ function: null }] }])(
		"ignore %j",
		(delta) => {
			expect(tokensOf(delta)).toBe(0);
		},
	);
});

it("a chunk adds all its choices and its usage", () => {
	const progress = new StreamProgress();
	expect(progress.usage).toBeUndefined();
	const choice = (content: string) => ({ index: 0, delta: { content }, finish_reason: null });
	const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
	progress.addChunk({ choices: [choice("a"), choice("b")], usage });
	expect(progress.outputTokens).toBe(2);
	expect(progress.usage).toEqual(usage);
	progress.addUsage(undefined);
	expect(progress.usage).toEqual(usage);
	progress.addUsage({ ...usage, completion_tokens: 4, total_tokens: 7 });
	expect(progress.usage).toEqual({ prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 });
});
