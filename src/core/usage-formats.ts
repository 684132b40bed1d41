/**
 * Reads the usage of APIs whose fields differ from OpenAI's chat, and converts it to the fields of {@link Usage}. As in `usage.ts`, an
 * invalid count is ignored.
 */
import * as z from "zod";
import { isRecord } from "./json.ts";
import { countOf, outputOf, type Usage, usageOf, usageOfCounts } from "./usage.ts";

/** Counts as an API sent them. */
export type SentCounts = Readonly<Record<string, unknown>>;

/** The usage of a reply. Anything but an object is no usage. */
export const SentCounts = z
	.unknown()
	.transform((sent): SentCounts | undefined => (isRecord(sent) ? sent : undefined))
	.optional();

/**
 * The usage of Anthropic's Messages (docs.anthropic.com/en/api/messages), and of OpenAI's Responses, images and transcriptions
 * (platform.openai.com/docs/api-reference/responses/object). Anthropic's input count excludes tokens that were read from or written to the
 * cache, OpenAI's includes them. `undefined` without counts.
 */
export function messagesUsage(sent: SentCounts): Usage | undefined {
	const { input_tokens, output_tokens, input_tokens_details, output_tokens_details } = sent;
	const read = countOf(sent.cache_read_input_tokens) ?? 0;
	const created = countOf(sent.cache_creation_input_tokens) ?? 0;
	return usageWith([input_tokens, output_tokens], {
		excluded: read + created,
		cached: detailIn(input_tokens_details, "cached_tokens") ?? read,
		written: detailIn(input_tokens_details, "cache_write_tokens") ?? created,
		reasoning:
			detailIn(output_tokens_details, "thinking_tokens") ??
			detailIn(output_tokens_details, "reasoning_tokens"),
		total: sent.total_tokens,
	});
}

/** The counts in an event of Messages are totals. A count that an event omits has not changed. */
export const laterCounts = (before: SentCounts | undefined, after: SentCounts): SentCounts => ({
	...before,
	...Object.fromEntries(Object.entries(after).filter(([, value]) => value !== null && value !== undefined)),
});

/**
 * The `usageMetadata` of Gemini (ai.google.dev/api/generate-content#UsageMetadata). Thoughts are billed as output. They are not among the
 * candidates. The total is the sum of prompt, tools, candidates and thoughts, also if one of these counts is absent.
 */
export function geminiUsage(sent: SentCounts): Usage | undefined {
	const prompt = countOf(sent.promptTokenCount);
	const written = countOf(sent.candidatesTokenCount);
	const reasoning = countOf(sent.thoughtsTokenCount);
	if (prompt === undefined && written === undefined && reasoning === undefined) return undefined;
	const tools = countOf(sent.toolUsePromptTokenCount) ?? 0;
	// A prompt that was not counted stays so.
	const input = prompt && prompt + tools;
	const afterPrompt = input ? (countOf(sent.totalTokenCount) ?? 0) - input : 0;
	return usageWith([input, Math.max(afterPrompt, (written ?? 0) + (reasoning ?? 0))], {
		cached: countOf(sent.cachedContentTokenCount),
		reasoning,
	});
}

/** Also `models/gemini-…` and `google/gemini-…`, as Google's OpenAI-compatible APIs name models. */
const GEMINI = /(?:^|\/)gemini-/;

/**
 * The usage of a model, by the name in its answer, in the fields of OpenAI's chat. Google's API with these fields counts the thoughts of
 * Gemini in the total only. The same object: all output is counted, or the prompt is not.
 */
export function withThoughts(usage: Usage, model: unknown): Usage {
	const { prompt_tokens, completion_tokens, total_tokens } = usage;
	const output = total_tokens - prompt_tokens;
	const lacksThoughts = prompt_tokens > 0 && output > completion_tokens;
	if (!lacksThoughts || typeof model !== "string" || !GEMINI.test(model)) return usage;
	return { ...usage, completion_tokens: output };
}

/** The usage of Bedrock's Converse (docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html). */
function converseUsage(sent: SentCounts): Usage | undefined {
	const read = countOf(sent.cacheReadInputTokens) ?? 0;
	const written = countOf(sent.cacheWriteInputTokens) ?? 0;
	return usageWith([sent.inputTokens, sent.outputTokens], {
		excluded: read + written,
		cached: read,
		written,
	});
}

/** Names of input and output tokens in APIs without other counts. */
const PLAIN_COUNTS = [
	// Ollama.
	["prompt_eval_count", "eval_count"],
	// The metrics of Bedrock's invocations, and of Llama there.
	["inputTokenCount", "outputTokenCount"],
	["prompt_token_count", "generation_token_count"],
	// The metrics of Replicate's language models.
	["input_token_count", "output_token_count"],
	["token_input_count", "token_output_count"],
] as const;

export function plainUsage(sent: SentCounts): Usage | undefined {
	for (const [input, output] of PLAIN_COUNTS) {
		const usage = usageOfCounts(sent[input], sent[output]);
		if (usage) return usage;
	}
	return undefined;
}

/** Reads the usage of any of these APIs, and of OpenAI's chat. Of Cohere's several counts, the billed ones are used. */
export function usageOfAnyFormat(sent: SentCounts): Usage | undefined {
	if (isRecord(sent.billed_units)) return messagesUsage(sent.billed_units);
	// First, because `usageOf` would count the total of Responses as input.
	if (hasMessagesCounts(sent)) return messagesUsage(sent);
	return usageOf(sent) ?? geminiUsage(sent) ?? converseUsage(sent) ?? plainUsage(sent);
}

/** Whether the counts are those of Messages or Responses. Some engines have OpenAI's counts, too. */
export const hasMessagesCounts = (sent: SentCounts): boolean =>
	("input_tokens" in sent || "output_tokens" in sent) &&
	!("prompt_tokens" in sent || "completion_tokens" in sent);

interface Details {
	/** Tokens that were read from or written to the cache, if the input count excludes them. */
	excluded?: number;
	/** All tokens that were read from the cache. */
	cached?: number | undefined;
	/** All tokens that were written to the cache. */
	written?: number;
	reasoning?: number | undefined;
	/** As sent. */
	total?: unknown;
}

function usageWith(
	[input, output]: readonly [unknown, unknown],
	{ excluded = 0, cached, written, reasoning, total }: Details,
): Usage | undefined {
	const usage = usageOfCounts(input, output);
	if (!usage) return undefined;
	const prompt = usage.prompt_tokens + excluded;
	const completion = outputOf({
		...{ prompt, completion: usage.completion_tokens },
		...{ reasoning, total: countOf(total) },
	});
	return {
		prompt_tokens: prompt,
		completion_tokens: completion,
		total_tokens: prompt + completion,
		...(cached !== undefined && {
			prompt_tokens_details: {
				cached_tokens: cached,
				...(written !== undefined && { cache_creation_tokens: written }),
			},
		}),
		...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
	};
}

const detailIn = (sent: unknown, name: string): number | undefined =>
	isRecord(sent) ? countOf(sent[name]) : undefined;
