/** Estimates the maximum cost of a call before it runs: the amount to reserve (`TaskDefinition.estimate`). */
import type { Estimate } from "../counting/quantities.ts";
import type { Model } from "../models/model.ts";
import type { TaskCall } from "../tasks/task.ts";
import { definitionOf } from "../tasks/traits.ts";

export { LIVE_SESSION_SECONDS } from "../tasks/live-transcription/index.ts";
export type { Estimate };

export const estimate = ({ task, input }: TaskCall, model: Model): Estimate =>
	definitionOf(task).estimate(input, model);
