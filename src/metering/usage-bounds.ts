/**
 * What a call can have used at most: an engine that counts more has counted wrong. Output is bounded by `max_tokens`,
 * input by the bytes of the prompt.
 *
 * Not bounded: input that the engine fetches by itself (web searches, files by their ids, Anthropic's own tools).
 */

import { MOST_OUTPUT_TOKENS } from "../counting/quantities.ts";
import type { Model } from "../models/model.ts";
import type { TaskCall } from "../tasks/task.ts";
import { choicesOf, definitionOf } from "../tasks/traits.ts";
import { estimate } from "./estimate.ts";

/** Tokens that a chat template may add (a default system prompt), or that the gateway adds around a prompt. */
const TEMPLATE_TOKENS = 2_048;

/** All choices together. */
function mostOutput(call: TaskCall, { contextWindow = MOST_OUTPUT_TOKENS }: Model): number {
	const limit = definitionOf(call.task).outputLimit?.(call.input) ?? contextWindow;
	return Math.min(limit, contextWindow) * choicesOf(call);
}

function mostInput(call: TaskCall, model: Model): number {
	if (definitionOf(call.task).fetchesInput?.(call.input)) return Number.POSITIVE_INFINITY;
	const most = estimate(call, model);
	return most instanceof Promise ? Number.POSITIVE_INFINITY : (most.fixed.inputTokens ?? 0) + TEMPLATE_TOKENS;
}

/** Token counts of any task. */
interface Counts {
	prompt_tokens?: number;
	completion_tokens?: number;
	total_tokens?: number;
	input_tokens?: number;
	output_tokens?: number;
	prompt_tokens_details?: { cached_tokens?: number | null } | null;
	completion_tokens_details?: { reasoning_tokens?: number | null } | null;
}

/** The same object where nothing is too large. */
export function boundUsage<Usage extends Counts>(usage: Usage, call: TaskCall, model: Model): Usage {
	const input = usage.prompt_tokens ?? usage.input_tokens ?? 0;
	const output = usage.completion_tokens ?? usage.output_tokens ?? 0;
	const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
	const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? 0;
	// A small count needs no bound; computing the bound reads the prompt again.
	const mostIn = input <= TEMPLATE_TOKENS ? input : Math.min(input, mostInput(call, model));
	const mostOut = Math.min(output, mostOutput(call, model));
	const total = usage.total_tokens;
	const fits = mostIn === input && mostOut === output && cached <= input && reasoning <= output;
	// Some engines count reasoning in the total only.
	if (fits && (total === undefined || total <= mostIn + mostOutput(call, model))) return usage;
	return {
		...usage,
		...(usage.prompt_tokens !== undefined && { prompt_tokens: mostIn }),
		...(usage.input_tokens !== undefined && { input_tokens: mostIn }),
		...(usage.completion_tokens !== undefined && { completion_tokens: mostOut }),
		...(usage.output_tokens !== undefined && { output_tokens: mostOut }),
		...(total !== undefined && { total_tokens: mostIn + mostOut }),
		...(cached > mostIn && {
			prompt_tokens_details: { ...usage.prompt_tokens_details, cached_tokens: mostIn },
		}),
		...(reasoning > mostOut && {
			completion_tokens_details: { ...usage.completion_tokens_details, reasoning_tokens: mostOut },
		}),
	};
}
