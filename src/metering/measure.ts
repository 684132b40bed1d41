/**
 * Measures what a call used from its answer, for the bill. The engine's counts are used if it sends any. Otherwise we count
 * ourselves and mark the result as estimated; our count never exceeds the requested output limit. Images and audio have no
 * counts; their sizes are known, not estimated.
 */

import { isCounted } from "../core/usage.ts";
import { byUsage, estimatedTokens, exact, type Measured, toUsage } from "../counting/quantities.ts";
import type { Model } from "../models/model.ts";
import type { Progress, TaskCall, TaskName, TaskOutput } from "../tasks/task.ts";
import { definitionOf } from "../tasks/traits.ts";
import { boundUsage } from "./usage-bounds.ts";

export { type Measured, toUsage };

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
