/**
 * Reads the `usage` of engines with OpenAI's fields, in complete replies and in streams. Engines omit counts, send `null` for counts
 * they do not keep, and some send text, fractions or negative numbers. An invalid count never fails the answer: it is 0, which means
 * that the engine did not count, so the gateway does.
 */
import * as z from "zod";

export interface Usage {
	prompt_tokens: number;
	completion_tokens: number;
	total_tokens: number;
	/**
	 * Tokens that were written to a cache are `cache_creation_tokens` of Anthropic's models (our extension), and `cache_write_tokens` at
	 * OpenAI and OpenRouter.
	 */
	prompt_tokens_details?: {
		cached_tokens?: number | null;
		cache_creation_tokens?: number | null;
		cache_write_tokens?: number | null;
	} | null;
	completion_tokens_details?: { reasoning_tokens?: number | null } | null;
}

/** `undefined` for an invalid count. */
export function countOf(sent: unknown): number | undefined {
	const value = typeof sent === "string" && sent.trim() !== "" ? Number(sent) : sent;
	if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return undefined;
	return Math.min(Math.round(value), Number.MAX_SAFE_INTEGER);
}

/** The usage of an API that may omit a count. `undefined` if it omits both. */
export function usageOfCounts(prompt: unknown, completion: unknown): Usage | undefined {
	const counts = [countOf(prompt), countOf(completion)];
	if (counts.every((count) => count === undefined)) return undefined;
	const [prompt_tokens = 0, completion_tokens = 0] = counts;
	return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

/** The `usage` of a reply. */
export const SentUsage = z.unknown().transform(usageOf);

/** Completes the third count from any two and keeps further fields. `undefined` if the engine sent no count. */
export function usageOf(sent: unknown): Usage | undefined {
	if (typeof sent !== "object" || sent === null) return undefined;
	const counts = sent as { [Field in keyof Usage | CachedField]?: unknown };
	const prompt_tokens = countOf(counts.prompt_tokens);
	const completion_tokens = countOf(counts.completion_tokens);
	const total_tokens = countOf(counts.total_tokens);
	if (prompt_tokens === undefined && completion_tokens === undefined && total_tokens === undefined)
		return undefined;
	const remainder = (known: number): number => Math.max(0, (total_tokens ?? 0) - known);
	const prompt = prompt_tokens ?? remainder(completion_tokens ?? 0);
	const completion = completion_tokens ?? remainder(prompt);
	const details = detailsOf(counts);
	const output = outputOf({ prompt, completion, reasoning: reasoningIn(details), total: total_tokens });
	return {
		...sent,
		...details,
		prompt_tokens: prompt,
		completion_tokens: output,
		// Some engines do not keep the total and send zero, and some omit the reasoning from it.
		total_tokens: Math.max(total_tokens ?? 0, prompt + output),
	};
}

interface SeparateCounts {
	prompt: number;
	completion: number;
	reasoning?: number | undefined;
	total?: number | undefined;
}

/**
 * Tokens of the output. xAI counts reasoning beside the completion, and bills it as output. OpenAI counts it in the completion. The total
 * shows which. Without one, reasoning is beside a completion that is smaller.
 */
export function outputOf({ prompt, completion, reasoning = 0, total = 0 }: SeparateCounts): number {
	const sum = prompt + completion + reasoning;
	const isBeside = total === 0 ? reasoning > completion : total === sum;
	return isBeside ? completion + reasoning : Math.max(completion, reasoning);
}

/** Tokens of the reasoning. 0: the engine does not count them. */
export const reasoningIn = ({
	completion_tokens_details: details,
}: Pick<Usage, "completion_tokens_details">): number => countOf(details?.reasoning_tokens) ?? 0;

/** Tokens of the prompt that were written to a cache. `undefined`: the engine does not count them. */
export const cacheWritesIn = ({
	prompt_tokens_details: details,
}: Pick<Usage, "prompt_tokens_details">): number | undefined =>
	countOf(details?.cache_creation_tokens) ?? countOf(details?.cache_write_tokens);

/** Fields of DeepSeek and of Moonshot, which some copies of their APIs have alone. */
type CachedField = "prompt_cache_hit_tokens" | "cached_tokens";

/** The details of the counts, as far as the engine sent them. */
function detailsOf({
	prompt_tokens_details: details,
	prompt_cache_hit_tokens,
	cached_tokens,
	completion_tokens_details: completion,
}: {
	[Field in keyof Usage | CachedField]?: unknown;
}): Pick<Usage, "prompt_tokens_details" | "completion_tokens_details"> {
	const cached = details == null ? countOf(prompt_cache_hit_tokens ?? cached_tokens) : undefined;
	const prompt = cached === undefined ? details : { cached_tokens: cached };
	return {
		...(prompt !== undefined && { prompt_tokens_details: detailOf(prompt, "cached_tokens") }),
		...(completion !== undefined && {
			completion_tokens_details: detailOf(completion, "reasoning_tokens"),
		}),
	};
}

function detailOf(sent: unknown, name: string): Record<string, unknown> | null {
	if (typeof sent !== "object" || sent === null) return null;
	const details = sent as Record<string, unknown>;
	const isNegative = (value: unknown): boolean => typeof value === "number" && value < 0;
	const counts = Object.entries(details).filter(
		([field, value]) => value !== undefined && value !== null && (field === name || isNegative(value)),
	);
	if (counts.length === 0) return details;
	return {
		...details,
		...Object.fromEntries(counts.map(([field, value]) => [field, countOf(value) ?? null])),
	};
}

/**
 * The valid one of two usages of one stream: the later, unless its sum is smaller. Engines send rising counts with every
 * chunk or one total at the end, and some send a frame of zeros after the total.
 */
export function laterUsage(before: Usage | undefined, after: Usage | null | undefined): Usage | undefined {
	if (!after) return before;
	return before && sumOf(before) > sumOf(after) ? before : after;
}

/** Whether the engine counted tokens. Zero tokens for an existing answer means that it did not. */
export const isCounted = (usage: Usage | null | undefined): usage is Usage => !!usage && sumOf(usage) > 0;

const sumOf = ({ prompt_tokens, completion_tokens }: Usage): number => prompt_tokens + completion_tokens;
