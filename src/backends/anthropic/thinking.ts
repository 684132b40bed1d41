/**
 * How hard to think, and the room that thoughts and answer share. `max_tokens` is the API's only required limit and
 * counts both.
 */
import type { ChatInput } from "../../tasks/text-generation/types.ts";
import type { Traits } from "./traits.ts";

/** Room for an answer where the caller set no limit. The oldest models know no more. */
const DEFAULT_ANSWER_TOKENS = 4096;
/** Fewer the API refuses. */
const MIN_BUDGET_TOKENS = 1024;

type Effort = NonNullable<ChatInput["reasoning_effort"]>;

/** Of thoughts, by effort. */
const BUDGET_TOKENS: Record<Effort, number> = {
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
	effort?: Exclude<Effort, "minimal">;
}

export interface Circumstances {
	/** The model must call a tool. */
	forced: boolean;
	/** The answer goes on from what the assistant has said. */
	prefilled: boolean;
	/** Results of tools are being given back, but not the thoughts that led to the calls, which the API would want. */
	lacksThoughts: boolean;
}

export function thinkingOf(
	{ max_tokens, reasoning_effort: effort }: ChatInput,
	{ thinking }: Traits,
	{ forced, prefilled, lacksThoughts }: Circumstances,
): Thinking {
	const answer = { max_tokens: max_tokens ?? DEFAULT_ANSWER_TOKENS };
	if (effort === undefined || thinking === "none") return answer;
	// Some of the newer models think unless they are told not to.
	if (effort === null)
		return thinking === "adaptive" ? { ...answer, thinking: { type: "disabled" } } : answer;
	const room = { max_tokens: max_tokens ?? DEFAULT_ANSWER_TOKENS + BUDGET_TOKENS[effort] };
	if (thinking === "adaptive") {
		const level = { effort: effort === "minimal" ? "low" : effort } as const;
		if (forced || prefilled) return { ...room, ...level };
		return { ...room, ...level, thinking: { type: "adaptive", display: "summarized" } };
	}
	if (forced || prefilled || lacksThoughts || room.max_tokens <= MIN_BUDGET_TOKENS) return answer;
	// Half of what the caller allows is left for the answer.
	const allowed = max_tokens === undefined ? Number.POSITIVE_INFINITY : Math.floor(max_tokens / 2);
	const budget_tokens = Math.max(MIN_BUDGET_TOKENS, Math.min(BUDGET_TOKENS[effort], allowed));
	return { ...room, thinking: { type: "enabled", budget_tokens } };
}
