/**
 * Differences between generations of models: the parameters of thinking, and signatures of tool calls. A name without a
 * number (`gemini-flash-latest`) is a model of the newest generation. Other families (Gemma) do not think.
 * https://ai.google.dev/gemini-api/docs/thinking and …/docs/openai#thinking have the tables.
 */
import { THINKING_BUDGETS } from "../../models/gemini-wire.ts";
import type { CommonEffort } from "../../tasks/text-generation/types.ts";

/** From this generation on: levels instead of budgets, and tool calls that are sent back need their signatures. */
const LEVELS_SINCE = 3;

const NAMES_GENERATION = /(?:^|\/)gemini-(?:(\d+(?:\.\d+)?)|)/;
/** The last generation whose Flash has the level `minimal`. Flash-Lite always has it. */
const MINIMAL_UNTIL = 3.6;

/** 2.5, 3, 3.1; `undefined` for another family. */
function generationOf(model: string): number | undefined {
	const named = NAMES_GENERATION.exec(model);
	if (!named) return undefined;
	return named[1] === undefined ? Number.POSITIVE_INFINITY : Number(named[1]);
}

/** Google's own search, `googleSearch`, came with this generation. */
const SEARCHES_SINCE = 2;

export function searchesWeb(model: string): boolean {
	const generation = generationOf(model);
	return generation !== undefined && generation >= SEARCHES_SINCE;
}

export function signsCalls(model: string): boolean {
	const generation = generationOf(model);
	return generation !== undefined && generation >= LEVELS_SINCE;
}

/** The minimum of 2.5 Pro, whose thinking cannot be disabled. */
const MIN_PRO_BUDGET = 128;

/** Thoughts are included if the request has an effort. */
export function thinkingConfig(
	effort: CommonEffort | null | undefined,
	model: string,
): Record<string, unknown> | undefined {
	const generation = generationOf(model);
	if (effort === undefined || generation === undefined) return undefined;
	if (generation < LEVELS_SINCE) {
		if (effort !== null) return { thinkingBudget: THINKING_BUDGETS[effort], includeThoughts: true };
		return { thinkingBudget: /-pro(?:-|$)/.test(model) ? MIN_PRO_BUDGET : 0 };
	}
	// The thinking of these models cannot be disabled: the lowest level.
	if (effort === null) return { thinkingLevel: minLevel(model, generation) };
	return {
		thinkingLevel: effort === "minimal" ? minLevel(model, generation) : effort,
		includeThoughts: true,
	};
}

/** Gemini refuses seeds above 32 bits. */
export const seedOf = (seed: number | undefined): number | undefined =>
	seed === undefined ? undefined : seed | 0;

function minLevel(model: string, generation: number): "minimal" | "low" {
	if (/-flash-lite(?:-|$)/.test(model)) return "minimal";
	return /-flash(?:-|$)/.test(model) && generation <= MINIMAL_UNTIL ? "minimal" : "low";
}
