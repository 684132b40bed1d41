/**
 * Limits an engine's counts to the maximum that the call can have used: output by `max_tokens`, input by the bytes of the
 * prompt. Larger counts are wrong.
 *
 * Not bounded: input that the engine fetches by itself (web searches, files by their ids, Anthropic's own tools).
 */

import { MAX_OUTPUT_TOKENS } from "../counting/quantities.ts";
import type { Model } from "../models/model.ts";
import type { TaskCall } from "../tasks/task.ts";
import { choicesOf, definitionOf } from "../tasks/traits.ts";
import { estimate } from "./estimate.ts";

/** Tokens that a chat template may add (a default system prompt), or that the gateway adds around a prompt. */
const TEMPLATE_TOKENS = 2_048;

/** The sum of all choices. */
function maxOutput(call: TaskCall, { contextWindow = MAX_OUTPUT_TOKENS }: Model): number {
	const limit = definitionOf(call.task).outputLimit?.(call.input) ?? contextWindow;
	return Math.min(limit, contextWindow) * choicesOf(call);
}

function maxInput(call: TaskCall, model: Model): number {
	if (definitionOf(call.task).fetchesInput?.(call.input)) return Number.POSITIVE_INFINITY;
	const max = estimate(call, model);
	return (max.fixed.inputTokens ?? 0) + TEMPLATE_TOKENS;
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

/** Returns the same object if no count is too large. */
export function boundUsage<Usage extends Counts>(usage: Usage, call: TaskCall, model: Model): Usage {
	const input = usage.prompt_tokens ?? usage.input_tokens ?? 0;
	const output = usage.completion_tokens ?? usage.output_tokens ?? 0;
	const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
	const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? 0;
	// A small count needs no bound; computing the bound reads the prompt again.
	const boundedInput = input <= TEMPLATE_TOKENS ? input : Math.min(input, maxInput(call, model));
	const boundedOutput = Math.min(output, maxOutput(call, model));
	const total = usage.total_tokens;
	const fits = boundedInput === input && boundedOutput === output && cached <= input && reasoning <= output;
	// Some engines count reasoning in the total only.
	if (fits && (total === undefined || total <= boundedInput + maxOutput(call, model))) return usage;
	return {
		...usage,
		...(usage.prompt_tokens !== undefined && { prompt_tokens: boundedInput }),
		...(usage.input_tokens !== undefined && { input_tokens: boundedInput }),
		...(usage.completion_tokens !== undefined && { completion_tokens: boundedOutput }),
		...(usage.output_tokens !== undefined && { output_tokens: boundedOutput }),
		...(total !== undefined && { total_tokens: boundedInput + boundedOutput }),
		...(cached > boundedInput && {
			prompt_tokens_details: { ...usage.prompt_tokens_details, cached_tokens: boundedInput },
		}),
		...(reasoning > boundedOutput && {
			completion_tokens_details: { ...usage.completion_tokens_details, reasoning_tokens: boundedOutput },
		}),
	};
}
