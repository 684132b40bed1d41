import { expect, it } from "vitest";
import { overflowIn } from "../../../src/backends/transport/context-overflow.ts";

it.each([
	[
		"input length and `max_tokens` exceed context limit: 189727 + 16000 > 200000, decrease input length or `max_tokens` and try again",
		[189_727, 16_000, 200_000],
	],
	["prompt is too long: 213462 tokens > 200000 maximum", [213_462, undefined, 200_000]],
	[
		"This model's maximum context length is 4096 tokens. However, you requested 4608 tokens (4096 in the messages, 512 in the completion). Please reduce the length of the messages or completion.",
		[4096, 512, 4096],
	],
	[
		"This model's maximum context length is 128000 tokens. However, your messages resulted in 131313 tokens. Please reduce the length of the messages.",
		[131_313, undefined, 128_000],
	],
	[
		"This model's maximum context length is 128000 tokens. However, you requested 131313 tokens in the messages, Please reduce the length of the messages.",
		[131_313, undefined, 128_000],
	],
	[
		"'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192 tokens and your request has 12 input tokens (9000 > 8192 - 12).",
		[12, 9000, 8192],
	],
	[
		"You passed 5001 input tokens and requested 100 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 3996 tokens. Please reduce the length of the input prompt.",
		[5001, 100, 4096],
	],
	[
		"You passed 5001 input tokens. However, the model's context length is only 4096 tokens.",
		[5001, undefined, 4096],
	],
	[
		"Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5096 tokens: 4096 tokens from the input messages and 1000 tokens for the completion.",
		[4096, 1000, 4096],
	],
	[
		"The input (345516 tokens) is longer than the model's context length (262144 tokens).",
		[345_516, undefined, 262_144],
	],
	[
		"request (24071 tokens) exceeds the available context size (8192 tokens), try increasing it",
		[24_071, undefined, 8192],
	],
	[
		"`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 1000 `inputs` tokens and 4000 `max_new_tokens`",
		[1000, 4000, 4096],
	],
	["`inputs` must have less than 1024 tokens. Given: 5000", [5000, undefined, 1024]],
	[
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
		[1_200_000, undefined, 1_048_576],
	],
	[
		"This model's maximum context length is 4097 tokens, however you requested 4608 tokens (4096 in your prompt; 512 for the completion). Please reduce your prompt; or completion length.",
		[4096, 512, 4097],
	],
	[
		"This endpoint's maximum context length is 40960 tokens. However, you requested about 52000 tokens (20000 of text input, 32000 in the output). Please reduce the length of either one.",
		[20_000, 32_000, 40_960],
	],
	[
		"This endpoint's maximum context length is 131072 tokens. However, you requested about 132000 tokens (120000 of text input, 4000 of tool input, 8000 in the output). Please reduce the length of either one.",
		[124_000, 8_000, 131_072],
	],
	[
		"The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.",
		[5000, undefined, 4096],
	],
	[
		"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
		[40_000, undefined, 32_768],
	],
	["The prompt is too long: 140000, model maximum context length: 131071", [140_000, undefined, 131_071]],
	[
		"This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
		[150_000, undefined, 131_072],
	],
	[
		"Invalid request: Your request exceeded model token limit: 131072 (requested: 150000)",
		[150_000, undefined, 131_072],
	],
	[
		"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
		[5000, undefined, 4096],
	],
])("reads the counts of %j", (message, [inputTokens, outputTokens, limit]) => {
	expect(overflowIn(message)).toEqual({
		inputTokens,
		limit,
		...(outputTokens !== undefined && { outputTokens }),
	});
});

it.each([
	"This model's maximum context length is 8192 tokens, however you requested 10000 tokens",
	"Your input exceeds the context window of this model. Please adjust your input and try again.",
	`${"a".repeat(1_000)}prompt is too long: 2 tokens > 1 maximum`,
])("reads none in %j", (message) => {
	expect(overflowIn(message)).toBeUndefined();
});
