/** Decides from a judgement of the guard model, by the settings of a gateway. */
import type { GatewaySettings } from "../settings.ts";

type GuardrailAction = "FLAG" | "BLOCK";
/** The action for each hazard. A missing hazard is ignored. */
export type HazardRules = Readonly<Record<string, GuardrailAction>>;
export type GuardrailPhase = "prompt" | "response";

/** An answer of the guard model. `categories`: may be empty for an unsafe text. */
export interface Judgement {
	safe: boolean;
	categories: readonly string[];
}

/** One evaluation. `action`: absent if no rule applies. `unavailable`: the guard model did not answer. */
export interface GuardrailResult {
	phase: GuardrailPhase;
	action?: GuardrailAction;
	categories: readonly string[];
	unavailable?: true;
}

/** The prompt injections that Llama Guard has no category for. */
export const INJECTION = "P1";

export const rulesOf = (
	{ guardrails }: Pick<GatewaySettings, "guardrails">,
	phase: GuardrailPhase,
): HazardRules => guardrails?.[phase] ?? {};

export const hasBlock = (rules: HazardRules): boolean => Object.values(rules).includes("BLOCK");

/** `judgements`: of all parts of a text. An unsafe one without a category counts as every category of the rules. */
export function decide(
	phase: GuardrailPhase,
	rules: HazardRules,
	judgements: readonly Judgement[],
): GuardrailResult {
	const unsafe = judgements.filter(({ safe }) => !safe);
	const found = new Set(
		unsafe.flatMap(({ categories }) => (categories.length > 0 ? categories : Object.keys(rules))),
	);
	const categories = Object.keys(rules).filter((hazard) => found.has(hazard));
	if (categories.length === 0) return { phase, categories };
	const isBlocked = categories.some((hazard) => rules[hazard] === "BLOCK");
	return { phase, action: isBlocked ? "BLOCK" : "FLAG", categories };
}
