import { describe, expect, it } from "vitest";
import { SentUsage, usageOf, usageOfCounts } from "../../src/core/usage.ts";

const counts = (prompt_tokens: number, completion_tokens: number, total_tokens: number) => ({
	prompt_tokens,
	completion_tokens,
	total_tokens,
});

describe("usageOf", () => {
	it("reads the cached tokens of Moonshot", () => {
		const usage = usageOf({ ...counts(9, 1, 10), cached_tokens: 6 });
		expect(usage?.prompt_tokens_details).toEqual({ cached_tokens: 6 });
	});

	it("reads DeepSeek's count of cached tokens, if OpenAI's is absent", () => {
		const sent = { ...counts(9, 1, 10), prompt_cache_hit_tokens: 6, prompt_cache_miss_tokens: 3 };
		expect(usageOf(sent)?.prompt_tokens_details).toEqual({ cached_tokens: 6 });
		const both = { ...sent, prompt_tokens_details: { cached_tokens: 5 } };
		expect(usageOf(both)?.prompt_tokens_details).toEqual({ cached_tokens: 5 });
		expect(usageOf({ ...sent, prompt_cache_hit_tokens: "none" })).not.toHaveProperty("prompt_tokens_details");
	});

	it.each([
		[{ prompt_tokens: 30, completion_tokens: 20, total_tokens: 50 }, counts(30, 20, 50)],
		[{ prompt_tokens: 30, completion_tokens: 20 }, counts(30, 20, 50)],
		[{ prompt_tokens: 30, completion_tokens: 20, total_tokens: 0 }, counts(30, 20, 50)],
		[{ prompt_tokens: 30, completion_tokens: null, total_tokens: null }, counts(30, 0, 30)],
		[{ prompt_tokens: 30, total_tokens: 50 }, counts(30, 20, 50)],
		[{ completion_tokens: 20, total_tokens: 50 }, counts(30, 20, 50)],
		[{ total_tokens: 50 }, counts(50, 0, 50)],
		[{ prompt_tokens: "30", completion_tokens: "20" }, counts(30, 20, 50)],
		[{ prompt_tokens: 29.6, completion_tokens: 20.4, total_tokens: 50.2 }, counts(30, 20, 50)],
		[{ prompt_tokens: -1, completion_tokens: "many", total_tokens: 50 }, counts(50, 0, 50)],
		[{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, counts(0, 0, 0)],
		[{ prompt_tokens: 30, completion_tokens: 20, total_tokens: 30 }, counts(30, 20, 50)],
		// Some engines count reasoning tokens in the total only: the total is kept.
		[{ prompt_tokens: 30, completion_tokens: 20, total_tokens: 90 }, counts(30, 20, 90)],
	])("completes %j", (sent, completed) => {
		expect(usageOf(SentUsage.parse(sent))).toEqual(completed);
	});

	it.each([null, undefined, {}, "5", 5, { prompt_tokens: null }, { prompt_tokens: "" }, { cost: 1 }])(
		"finds no usage in %j",
		(sent) => {
			expect(usageOf(SentUsage.nullish().parse(sent))).toBeUndefined();
		},
	);

	it.each([
		["beside the completion, by the total", 20, 5, 55, 25],
		["in the completion", 20, 5, 50, 20],
		["beside the completion, because they are more", 3, 5, undefined, 8],
		["beside the completion, because they are more and there is no total", 3, 5, 0, 8],
		["beside the completion, which is smaller, by the total", 3, 5, 38, 8],
		["in the completion, by the total, though they are more", 105, 110, 135, 110],
		["in the completion, by a total that omits them", 3, 5, 33, 5],
		["in the completion, by a total that nothing explains", 3, 5, 50, 5],
		["alone", 0, 5, undefined, 5],
		["without a count of the completion", undefined, 5, undefined, 5],
	])("counts tokens of reasoning %s", (_, completion_tokens, reasoning_tokens, total_tokens, output) => {
		const details = { completion_tokens_details: { reasoning_tokens } };
		expect(usageOf({ prompt_tokens: 30, completion_tokens, total_tokens, ...details })).toEqual({
			...counts(30, output, Math.max(total_tokens ?? 0, 30 + output)),
			...details,
		});
	});

	it("keeps further fields", () => {
		const further = { prompt_tokens_details: { cached_tokens: 3, audio_tokens: null }, cost: 0.1 };
		expect(usageOf(SentUsage.parse({ prompt_tokens: 5, ...further }))).toEqual({
			...counts(5, 0, 5),
			...further,
		});
	});
});

describe("usageOfCounts", () => {
	it.each([
		[3, 2, counts(3, 2, 5)],
		[3, undefined, counts(3, 0, 3)],
		[null, 2, counts(0, 2, 2)],
		[0, 0, counts(0, 0, 0)],
		["3", 1.6, counts(3, 2, 5)],
		[null, undefined, undefined],
		["many", -1, undefined],
	])("of %j and %j is %j", (prompt, completion, usage) => {
		expect(usageOfCounts(prompt, completion)).toEqual(usage);
	});
});
