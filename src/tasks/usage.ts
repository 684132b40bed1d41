/**
 * Reads the `usage` of all engines with OpenAI's format, in whole replies and in streams. Engines omit counts, send
 * `null`, text or fractions. A count that cannot be read is ignored; it never fails the reply.
 */
import * as z from "zod";
import type { Usage } from "./text-generation.ts";

/** `undefined` where the value is not a count. */
export function countOf(sent: unknown): number | undefined {
	const value = typeof sent === "string" && sent.trim() !== "" ? Number(sent) : sent;
	if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return undefined;
	return Math.min(Math.round(value), Number.MAX_SAFE_INTEGER);
}

/** The `usage` of a reply. */
export const SentUsage = z.unknown().transform(usageOf);

/** Computes the third count from any two. Other fields stay as sent. `undefined` where there is no count. */
export function usageOf(sent: unknown): Usage | undefined {
	if (typeof sent !== "object" || sent === null) return undefined;
	const counts = sent as { [Field in keyof Usage]?: unknown };
	const prompt_tokens = countOf(counts.prompt_tokens);
	const completion_tokens = countOf(counts.completion_tokens);
	const total_tokens = countOf(counts.total_tokens);
	if (prompt_tokens === undefined && completion_tokens === undefined && total_tokens === undefined)
		return undefined;
	const left = (known: number): number => Math.max(0, (total_tokens ?? 0) - known);
	const prompt = prompt_tokens ?? left(completion_tokens ?? 0);
	const completion = completion_tokens ?? left(prompt);
	return {
		...sent,
		...detailsOf(counts),
		prompt_tokens: prompt,
		completion_tokens: completion,
		// A total of 0 beside other counts means that the engine does not keep it.
		total_tokens: total_tokens || prompt + completion,
	};
}

/** The details that were sent. */
function detailsOf({
	prompt_tokens_details: prompt,
	completion_tokens_details: completion,
}: {
	[Field in keyof Usage]?: unknown;
}): Pick<Usage, "prompt_tokens_details" | "completion_tokens_details"> {
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
	const { [name]: value } = details;
	if (value === undefined || value === null) return details;
	return { ...details, [name]: countOf(value) ?? null };
}

/**
 * Which of two counts of one stream to believe: the later, unless it says less. Engines count up on every chunk or
 * once at the end, and some follow the true totals with a frame of zeros.
 */
export function laterUsage(before: Usage | undefined, after: Usage | null | undefined): Usage | undefined {
	if (!after) return before;
	return before && counted(before) > counted(after) ? before : after;
}

/** A usage of zeros means that the engine did not count. */
export const isCounted = (usage: Usage | null | undefined): usage is Usage => !!usage && counted(usage) > 0;

const counted = ({ prompt_tokens, completion_tokens }: Usage): number => prompt_tokens + completion_tokens;
