/**
 * The properties of a call, from the definition of its task (`definition.ts` documents them), with their defaults. Two of them are its
 * maximum cost, which is reserved, and its measured usage, which is charged.
 *
 * The usage is the engine's counts, if it sends any, up to the maximum that the call can have used. Otherwise the gateway counts, and
 * marks the result as estimated; its count never exceeds the requested output limit. Images and audio have no counts; their sizes are
 * known, not estimated.
 */
import {
	estimatedTokens,
	exact,
	MAX_OUTPUT_TOKENS,
	type Measured,
	measuredBy,
} from "../counting/quantities.ts";
import type { Model } from "../models/model.ts";
import type { TaskDefinition } from "./definition.ts";
import { TASKS } from "./index.ts";
import type { Progress, TaskCall, TaskName, TaskOutput } from "./task.ts";

/** The table's type pairs each task with its input and output; the compiler cannot infer that for a union of calls. */
export const definitionOf = ({ task }: Pick<TaskCall, "task">): TaskDefinition<unknown, unknown> =>
	TASKS[task] as TaskDefinition<unknown, unknown>;

export const isSession = (call: TaskCall): call is TaskCall<"live-transcription"> =>
	definitionOf(call).session === true;

export const isHedgeable = (call: TaskCall): boolean => definitionOf(call).hedgeable ?? true;

export const isShareable = (call: TaskCall): boolean => definitionOf(call).shareable?.(call.input) ?? true;

export type ResumableCall = TaskCall<"text-generation">;

export const isResumable = (call: TaskCall): call is ResumableCall => definitionOf(call).resumable === true;

/** The number of answers, if a prefill and a decode replica can make them together. */
export const splitChoices = (call: TaskCall): { choices?: number } =>
	isResumable(call) ? { choices: call.input.n ?? 1 } : {};

export const isStreamed = (call: TaskCall): boolean => isResumable(call) && call.input.stream;

/** The same call, with at most this many output tokens for all choices together. */
export function boundOutput(call: TaskCall, tokens: number): TaskCall {
	const bounded = definitionOf(call).boundOutput?.(call.input, tokens);
	// A definition returns the type of its input.
	return bounded === undefined ? call : ({ task: call.task, input: bounded } as TaskCall);
}

export const countInput = (call: TaskCall): number | undefined => definitionOf(call).countInput?.(call.input);

/** Measures a complete answer. A session has only begun, and counts as nothing. */
export const measure = <Name extends TaskName>(
	call: TaskCall<Name>,
	output: TaskOutput<Name>,
	model: Model,
): Measured => definitionOf(call).measure(call.input, output, model);

/** Measures the part of a stream that was sent, wherever it ended. */
export function measureStream(call: TaskCall, { usage, outputTokens }: Progress, model: Model): Measured {
	return measuredBy(
		usage && plausibleUsage(usage, call, model),
		() => definitionOf(call).measureStream?.(call.input, outputTokens) ?? estimatedTokens(0, outputTokens),
	);
}

/** Measures a call whose answer was not awaited. The engine has its input, and what it has made of its answer is unknown. */
export function measureInput(call: TaskCall, model: Model): Measured {
	const inputTokens = countInput(call);
	return inputTokens === undefined
		? { quantities: definitionOf(call).estimate(call.input, model).fixed, estimated: true }
		: estimatedTokens(inputTokens, 0);
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
	const limit = definitionOf(call).outputLimit?.(call.input) ?? contextWindow;
	return Math.min(limit, contextWindow) * (definitionOf(call).choices?.(call.input) ?? 1);
}

function maxInput(call: TaskCall, model: Model): number {
	if (definitionOf(call).fetchesInput?.(call.input)) return Number.POSITIVE_INFINITY;
	const max = definitionOf(call).estimate(call.input, model);
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

/** Engines may end a few tokens after the limit. */
const MAX_OVERRUN_SHARE = 1.1;
const MAX_OVERRUN_TOKENS = 16;

/**
 * Checks an engine's counts: output by `max_tokens`, input by the bytes of the prompt. A count that cannot be true becomes 0, which means
 * that the engine did not count. A small overrun, a total and details that do not fit are corrected. Input that the engine fetches by
 * itself (web searches, files by their ids, Anthropic's own tools) has no limit. Returns the same object if all counts fit.
 */
export function plausibleUsage<Usage extends Counts>(usage: Usage, call: TaskCall, model: Model): Usage {
	const input = usage.prompt_tokens ?? usage.input_tokens ?? 0;
	const output = usage.completion_tokens ?? usage.output_tokens ?? 0;
	const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
	const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? 0;
	const outputLimit = maxOutput(call, model);
	// A small count needs no bound; computing the bound reads the prompt again.
	const isInputTrue = input >= 0 && (input <= TEMPLATE_TOKENS || input <= maxInput(call, model));
	const isOutputTrue = output >= 0 && output <= outputLimit * MAX_OVERRUN_SHARE + MAX_OVERRUN_TOKENS;
	const boundedInput = isInputTrue ? input : 0;
	const boundedOutput = isOutputTrue ? Math.min(output, outputLimit) : 0;
	const { total_tokens: total = boundedInput + boundedOutput } = usage;
	const fits =
		boundedInput === input && boundedOutput === output && cached <= input && reasoning <= boundedOutput;
	// Some engines count reasoning in the total only.
	if (fits && total >= input + output && total <= input + outputLimit) return usage;
	return {
		...usage,
		...(usage.prompt_tokens !== undefined && { prompt_tokens: boundedInput }),
		...(usage.completion_tokens !== undefined && { completion_tokens: boundedOutput }),
		...(usage.input_tokens !== undefined && { input_tokens: boundedInput }),
		...(usage.output_tokens !== undefined && { output_tokens: boundedOutput }),
		...(usage.total_tokens !== undefined && { total_tokens: boundedInput + boundedOutput }),
		...(cached > boundedInput && {
			prompt_tokens_details: { ...usage.prompt_tokens_details, cached_tokens: boundedInput },
		}),
		...(reasoning > boundedOutput && {
			completion_tokens_details: { ...usage.completion_tokens_details, reasoning_tokens: boundedOutput },
		}),
	};
}
