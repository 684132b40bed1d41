/**
 * The effort of thinking, and the token limit. `max_tokens` is required, and counts thinking and answer together.
 */
import { type ChatInput, type CommonEffort, commonEffort } from "../../tasks/text-generation/types.ts";
import type { Traits } from "./traits.ts";

/** The limit of the answer if the request has none. It is the maximum of the oldest models. */
const DEFAULT_ANSWER_TOKENS = 4096;
/** The minimum of the API. */
const MIN_BUDGET_TOKENS = 1024;

/** The budget of thinking by effort. */
const BUDGET_TOKENS: Record<CommonEffort, number> = {
	minimal: MIN_BUDGET_TOKENS,
	low: 2048,
	medium: 8192,
	high: 16384,
};

export interface Thinking {
	max_tokens: number;
	thinking?:
		| { type: "disabled" }
		| { type: "adaptive"; display: "summarized" }
		| { type: "enabled"; budget_tokens: number };
	effort?: Exclude<CommonEffort, "minimal">;
}

export interface Circumstances {
	/** The model must call a tool. */
	forced: boolean;
	/** The answer continues the last assistant message. */
	prefilled: boolean;
	/** The conversation ends with tool results, without the thinking blocks before the calls. The API requires those. */
	lacksThoughts: boolean;
}

export function thinkingOf(
	{ max_tokens, ...input }: Pick<ChatInput, "max_tokens" | "reasoning_effort">,
	{ thinking }: Traits,
	{ forced, prefilled, lacksThoughts }: Circumstances,
): Thinking {
	const effort = commonEffort(input);
	const answer = { max_tokens: max_tokens ?? DEFAULT_ANSWER_TOKENS };
	if (effort === undefined || thinking === "none") return answer;
	// Some newer models think by default.
	if (effort === null)
		return thinking === "adaptive" ? { ...answer, thinking: { type: "disabled" } } : answer;
	const limit = { max_tokens: max_tokens ?? DEFAULT_ANSWER_TOKENS + BUDGET_TOKENS[effort] };
	if (thinking === "adaptive") {
		const level = { effort: effort === "minimal" ? "low" : effort } as const;
		if (forced || prefilled) return { ...limit, ...level };
		return { ...limit, ...level, thinking: { type: "adaptive", display: "summarized" } };
	}
	if (forced || prefilled || lacksThoughts || limit.max_tokens <= MIN_BUDGET_TOKENS) return answer;
	// Half of the caller's limit is reserved for the answer.
	const allowed = max_tokens === undefined ? Number.POSITIVE_INFINITY : Math.floor(max_tokens / 2);
	const budget_tokens = Math.max(MIN_BUDGET_TOKENS, Math.min(BUDGET_TOKENS[effort], allowed));
	return { ...limit, thinking: { type: "enabled", budget_tokens } };
}
