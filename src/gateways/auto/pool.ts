/**
 * The models of `cloudflare/auto` (https://developers.cloudflare.com/ai-gateway/features/routing/auto-router, 2026-11), and the tier
 * of each. The product does not publish how it compares models; the tiers are our own.
 */
import { own } from "../../core/own.ts";

/** 1: small and cheap. 2: general. 3: the strongest of their provider. */
export type Tier = 1 | 2 | 3;

/** The pool of a request without `cf-aig-allowed-models`. */
export const DEFAULT_POOL: readonly string[] = [
	"anthropic/claude-fable-5",
	"anthropic/claude-opus-5",
	"anthropic/claude-sonnet-5",
	"openai/gpt-5.6-luna",
	"openai/gpt-5.6-sol",
	"openai/gpt-5.6-terra",
	"xai/grok-4.5",
];

const TIERS: Readonly<Record<string, Tier>> = {
	"@cf/deepseek-ai/deepseek-v4-flash-0731": 1,
	"@cf/google/gemma-4-26b-a4b-it": 1,
	"@cf/openai/gpt-oss-20b": 1,
	"alibaba/qwen3.8-max": 3,
	"anthropic/claude-fable-5": 3,
	"anthropic/claude-fable-5.1": 3,
	"anthropic/claude-opus-4.8": 3,
	"anthropic/claude-opus-5": 3,
	"anthropic/claude-opus-5.5": 3,
	"fireworks/glm-5.3-flash": 1,
	"openai/gpt-5.5": 3,
	"openai/gpt-5.6-luna": 1,
	"openai/gpt-5.6-sol": 3,
	"openai/gpt-6-astra": 3,
	"openai/gpt-6-luna": 1,
};

/** US dollars per million output tokens: the highest price of tier 1 and of tier 2. */
const TIER_1_USD = 1.5;
const TIER_2_USD = 8;

/** `outputUsd`: per million output tokens. Absent: the price is unknown. */
export function tierOf(id: string, outputUsd: number | undefined): Tier {
	const known = own(TIERS, id);
	if (known !== undefined) return known;
	if (outputUsd === undefined) return 2;
	if (outputUsd <= TIER_1_USD) return 1;
	return outputUsd <= TIER_2_USD ? 2 : 3;
}
