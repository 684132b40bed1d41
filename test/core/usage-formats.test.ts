import { describe, expect, it } from "vitest";
import {
	geminiUsage,
	laterCounts,
	messagesUsage,
	plainUsage,
	usageOfAnyFormat,
	withThoughts,
} from "../../src/core/usage-formats.ts";
import response from "../fixtures/openai/openai/response.json";

const counts = (prompt_tokens: number, completion_tokens: number, details: object = {}) => ({
	prompt_tokens,
	completion_tokens,
	total_tokens: prompt_tokens + completion_tokens,
	...details,
});
const cached = (cached_tokens: number, others: object = {}) => ({
	prompt_tokens_details: { cached_tokens, ...others },
});
const reasoning = (reasoning_tokens: number) => ({ completion_tokens_details: { reasoning_tokens } });
/** Anthropic and Bedrock count the cache beside the input. */
const written = (cached_tokens: number, cache_creation_tokens: number) =>
	cached(cached_tokens, { cache_creation_tokens });

describe("the usage", () => {
	it.each([
		[
			"OpenAI's chat",
			{
				prompt_tokens: 9,
				completion_tokens: 3,
				total_tokens: 12,
				prompt_tokens_details: { cached_tokens: 4 },
			},
			counts(9, 3, cached(4)),
		],
		["OpenAI's embeddings", { prompt_tokens: 8, total_tokens: 8 }, counts(8, 0)],
		["OpenAI's Responses", response.usage, counts(36, 87, { ...written(30, 0), ...reasoning(64) })],
		[
			"OpenAI's images",
			{
				total_tokens: 100,
				input_tokens: 50,
				output_tokens: 50,
				input_tokens_details: { text_tokens: 10, image_tokens: 40 },
			},
			counts(50, 50, written(0, 0)),
		],
		[
			"Messages",
			{
				input_tokens: 20,
				cache_creation_input_tokens: 5,
				cache_read_input_tokens: 100,
				output_tokens: 9,
				output_tokens_details: { thinking_tokens: 6 },
				service_tier: "standard",
			},
			counts(125, 9, { ...written(100, 5), ...reasoning(6) }),
		],
		[
			"Gemini",
			{
				promptTokenCount: 20,
				cachedContentTokenCount: 8,
				toolUsePromptTokenCount: 4,
				candidatesTokenCount: 9,
				thoughtsTokenCount: 5,
				totalTokenCount: 38,
			},
			counts(24, 14, { ...cached(8), ...reasoning(5) }),
		],
		[
			"Converse",
			{
				inputTokens: 30,
				outputTokens: 12,
				totalTokens: 58,
				cacheReadInputTokens: 10,
				cacheWriteInputTokens: 6,
			},
			counts(46, 12, written(10, 6)),
		],
		[
			"Cohere",
			{
				billed_units: { input_tokens: 5, output_tokens: 418 },
				tokens: { input_tokens: 71, output_tokens: 418 },
			},
			counts(5, 418, written(0, 0)),
		],
		["Ollama", { prompt_eval_count: 26, eval_count: 298 }, counts(26, 298)],
		["Bedrock's metrics", { inputTokenCount: 12, outputTokenCount: 7 }, counts(12, 7)],
		["Llama on Bedrock", { prompt_token_count: 12, generation_token_count: 7 }, counts(12, 7)],
		["Replicate", { input_token_count: 12, output_token_count: 7, predict_time: 1.5 }, counts(12, 7)],
		[
			"an engine with the names of both APIs",
			{ input_tokens: 9, output_tokens: 3, prompt_tokens: 9, completion_tokens: 3 },
			counts(9, 3, { input_tokens: 9, output_tokens: 3 }),
		],
	])("of %s", (_, sent, usage) => {
		expect(usageOfAnyFormat(sent)).toEqual(usage);
	});

	it.each([
		[{}],
		[{ input_tokens: null, output_tokens: "many" }],
		[{ promptTokenCount: -1 }],
		[{ billed_units: { search_units: 1 } }],
		[{ inputTokens: {} }],
	])("of %j is absent", (sent) => {
		expect(usageOfAnyFormat(sent)).toBeUndefined();
	});

	it.each([
		// A published answer, https://github.com/mozilla-ai/any-llm/issues/1290, also without one of its counts.
		[
			{ promptTokenCount: 20, candidatesTokenCount: 198, thoughtsTokenCount: 405, totalTokenCount: 623 },
			counts(20, 603, reasoning(405)),
		],
		[{ promptTokenCount: 20, candidatesTokenCount: 198, totalTokenCount: 623 }, counts(20, 603)],
		[{ promptTokenCount: 20, candidatesTokenCount: 198, totalTokenCount: 218 }, counts(20, 198)],
		// Its text is not counted.
		[{ promptTokenCount: 20, thoughtsTokenCount: 5 }, counts(20, 5, reasoning(5))],
		[{ promptTokenCount: 20, thoughtsTokenCount: 5, totalTokenCount: 25 }, counts(20, 5, reasoning(5))],
		[{ promptTokenCount: 20, thoughtsTokenCount: 5, totalTokenCount: 34 }, counts(20, 14, reasoning(5))],
		[
			{ promptTokenCount: 20, toolUsePromptTokenCount: 4, thoughtsTokenCount: 5, totalTokenCount: 34 },
			counts(24, 10, reasoning(5)),
		],
		[{ promptTokenCount: 20, totalTokenCount: 29 }, counts(20, 9)],
		[{ promptTokenCount: 20, totalTokenCount: 7 }, counts(20, 0)],
		[{ thoughtsTokenCount: 5, totalTokenCount: 34 }, counts(0, 5, reasoning(5))],
	])("of Gemini that lacks counts, %j, is %j", (sent, usage) => {
		expect(geminiUsage(sent)).toEqual(usage);
	});

	it("of Messages or Responses counts more reasoning than output beside it", () => {
		const details = (thinking_tokens: number) => ({ output_tokens_details: { thinking_tokens } });
		expect(messagesUsage({ input_tokens: 3, ...details(6) })).toMatchObject(counts(3, 6));
		expect(messagesUsage({ input_tokens: 3, output_tokens: 2, ...details(6) })).toMatchObject(counts(3, 8));
		expect(messagesUsage({ input_tokens: 3, output_tokens: 6, ...details(6) })).toMatchObject(counts(3, 6));
	});

	it.each([
		[135, 110],
		[245, 215],
		[undefined, 215],
	])("of Responses with 105 tokens of output, 110 of them reasoning, and a total of %s", (total, output) => {
		const sent = { input_tokens: 30, output_tokens: 105, total_tokens: total };
		const usage = messagesUsage({ ...sent, output_tokens_details: { reasoning_tokens: 110 } });
		expect(usage).toMatchObject(counts(30, output));
	});

	it("ignores invalid counts beside valid ones", () => {
		expect(messagesUsage({ input_tokens: 3, cache_read_input_tokens: "x", output_tokens: [] })).toEqual(
			counts(3, 0, written(0, 0)),
		);
		expect(geminiUsage({ promptTokenCount: "3", thoughtsTokenCount: null })).toEqual(counts(3, 0));
		expect(plainUsage({ eval_count: 2, prompt_eval_count: Number.NaN })).toEqual(counts(0, 2));
	});
});

it("the remainder of a total is no output of Gemini if the prompt was not counted, or all output was", () => {
	for (const sent of [
		{ prompt_tokens: 0, completion_tokens: 3, total_tokens: 105 },
		counts(9, 96),
		{ ...counts(9, 96), total_tokens: 9 },
	])
		expect(withThoughts(sent, "gemini-3-flash-preview")).toBe(sent);
});

it("the counts of a later event replace those that it has", () => {
	const start = { input_tokens: 20, cache_read_input_tokens: 7, output_tokens: 1 };
	const merged = laterCounts(laterCounts(undefined, start), { output_tokens: 9, input_tokens: null });
	expect(merged).toEqual({ ...start, output_tokens: 9 });
});
