/**
 * What differs between generations of models: how thinking is asked for, and whether calls carry signatures. A name
 * without a number (`gemini-flash-latest`) is one of the newest; what is no Gemini at all (Gemma) does not think.
 * https://ai.google.dev/gemini-api/docs/thinking and …/docs/openai#thinking have the tables.
 */
import { THINKING_BUDGETS } from "../../models/gemini-wire.ts";
import type { ChatInput } from "../../tasks/text-generation/types.ts";

/** From this one on: levels instead of budgets, and a call that comes back must have its signature. */
const LEVELS_SINCE = 3;

const NAMES_GENERATION = /(?:^|\/)gemini-(?:(\d+(?:\.\d+)?)|)/;
/** The last generation whose Flash goes down to `minimal`; the smallest models of all go there. */
const MINIMAL_UNTIL = 3.6;

/** 2.5, 3, 3.1; `undefined` for another family. */
function generationOf(model: string): number | undefined {
	const named = NAMES_GENERATION.exec(model);
	if (!named) return undefined;
	return named[1] === undefined ? Number.POSITIVE_INFINITY : Number(named[1]);
}

export const signsCalls = (model: string): boolean => (generationOf(model) ?? 0) >= LEVELS_SINCE;

/** The least that 2.5 Pro takes: it cannot be stopped from thinking. */
const LEAST_PRO_BUDGET = 128;

/** What was thought is shown where thinking was asked for. */
export function thinkingConfig(
	effort: ChatInput["reasoning_effort"],
	model: string,
): Record<string, unknown> | undefined {
	const generation = generationOf(model);
	if (effort === undefined || generation === undefined) return undefined;
	if (generation < LEVELS_SINCE) {
		if (effort !== null) return { thinkingBudget: THINKING_BUDGETS[effort], includeThoughts: true };
		return { thinkingBudget: /-pro(?:-|$)/.test(model) ? LEAST_PRO_BUDGET : 0 };
	}
	// Nor can these be stopped: the least there is.
	if (effort === null) return { thinkingLevel: leastLevel(model, generation) };
	return {
		thinkingLevel: effort === "minimal" ? leastLevel(model, generation) : effort,
		includeThoughts: true,
	};
}

/** 32 bits: a larger one is refused. */
export const seedOf = (seed: number | undefined): number | undefined =>
	seed === undefined ? undefined : seed | 0;

function leastLevel(model: string, generation: number): "minimal" | "low" {
	if (/-flash-lite(?:-|$)/.test(model)) return "minimal";
	return /-flash(?:-|$)/.test(model) && generation <= MINIMAL_UNTIL ? "minimal" : "low";
}
