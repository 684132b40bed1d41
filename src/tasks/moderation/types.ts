import type { Usage } from "../../core/usage.ts";
import type { Verdict } from "./verdict.ts";

/** What is judged together. */
export interface ModeratedItem {
	text: string;
	/** Addresses or data URLs. */
	images: string[];
	/** The caller's form, for an engine that has the same. */
	sent: string | object[];
}

export interface ModerationInput {
	items: ModeratedItem[];
}

/** A result in OpenAI's form, from an engine that has it. */
export interface ScoredCategories {
	flagged?: boolean | undefined;
	categories: Record<string, boolean | null>;
	category_scores: Record<string, number | null>;
	category_applied_input_types?: Record<string, string[]> | undefined;
}

/** One result for each item, in their order. A guard model has verdicts, without scores. */
export type ModerationResult = { verdict: Verdict } | { scored: ScoredCategories };

export interface ModerationOutput {
	results: ModerationResult[];
	usage?: Usage;
}
