/**
 * Measures what a call used from its answer, for the bill. The engine's counts are used if it sends any, up to the maximum that
 * the call can have used. Otherwise we count ourselves and mark the result as estimated; our count never exceeds the requested
 * output limit. Images and audio have no counts; their sizes are known, not estimated.
 */
import { isCounted } from "../core/usage.ts";
import {
	byUsage,
	type Estimate,
	estimatedTokens,
	exact,
	MAX_OUTPUT_TOKENS,
	type Measured,
	toUsage,
} from "../counting/quantities.ts";
import type { Model } from "../models/model.ts";
import type { Progress, TaskCall, TaskName, TaskOutput } from "../tasks/task.ts";
import { choicesOf, definitionOf } from "../tasks/traits.ts";

export { LIVE_SESSION_SECONDS } from "../tasks/live-transcription/index.ts";
export { type Measured, toUsage };

/** The maximum cost of a call, before it runs: the amount to reserve. */
export const estimate = ({ task, input }: TaskCall, model: Model): Estimate =>
	definitionOf(task).estimate(input, model);

/** Measures a complete answer. A session has only begun, and counts as nothing. */
export const measure = <Name extends TaskName>(
	{ task, input }: TaskCall<Name>,
	output: TaskOutput<Name>,
	model: Model,
): Measured => definitionOf(task).measure(input, output, model);

/** Measures the part of a stream that was sent, wherever it ended. */
export function measureStream(call: TaskCall, { usage, outputTokens }: Progress, model: Model): Measured {
	if (isCounted(usage)) return byUsage(boundUsage(usage, call, model));
	const measured = definitionOf(call.task).measureStream?.(call.input, outputTokens);
	return measured ?? estimatedTokens(0, outputTokens);
}

/**
 * Measures a finished session of live transcription: seconds times channels, because each channel is transcribed
 * separately.
 */
export const measureLive = ({ duration, channels }: { duration: number; channels: number }): Measured =>
	exact({ liveAudioSeconds: duration * channels });

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

/**
 * Limits an engine's counts: output by `max_tokens`, input by the bytes of the prompt. Larger counts are wrong. Input that the
 * engine fetches by itself (web searches, files by their ids, Anthropic's own tools) has no limit. Returns the same object if no
 * count is too large.
 */
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
