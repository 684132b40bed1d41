/** The properties of a call, from the definition of its task (`definition.ts` documents them), with their defaults. */
import type { Usage } from "../core/usage.ts";
import type { Measured } from "../counting/quantities.ts";
import type { Model } from "../models/model.ts";
import type { Prompt, TaskDefinition, Unsupported } from "./definition.ts";
import { TASKS } from "./index.ts";
import type { TaskCall, TaskName, TaskOutput } from "./task.ts";

/** The table's type pairs each task with its input and output; the compiler cannot infer that for a union of calls. */
export const definitionOf = (task: TaskName): TaskDefinition<unknown, unknown> =>
	TASKS[task] as TaskDefinition<unknown, unknown>;

export const isSession = (call: TaskCall): call is TaskCall<"live-transcription"> =>
	definitionOf(call.task).session === true;

export const isHedgeable = ({ task }: TaskCall): boolean => definitionOf(task).hedgeable ?? true;

export const isShareable = ({ task, input }: TaskCall): boolean =>
	definitionOf(task).shareable?.(input) ?? true;

export type ResumableCall = TaskCall<"text-generation">;

export const isResumable = (call: TaskCall): call is ResumableCall =>
	definitionOf(call.task).resumable === true;

export const choicesOf = ({ task, input }: TaskCall): number => definitionOf(task).choices?.(input) ?? 1;

export const promptOf = ({ task, input }: TaskCall): Prompt | undefined => definitionOf(task).prompt?.(input);

/** Maximum output tokens of one choice, if the caller set it. */
export const outputLimitOf = ({ task, input }: TaskCall): number | undefined =>
	definitionOf(task).outputLimit?.(input);

export const isStreamed = (call: TaskCall): boolean => isResumable(call) && call.input.stream;

/** The same call, with at most this many output tokens for all choices together. */
export function boundOutput(call: TaskCall, tokens: number): TaskCall {
	const bounded = definitionOf(call.task).boundOutput?.(call.input, tokens);
	// A definition returns the type of its input.
	return bounded === undefined ? call : ({ task: call.task, input: bounded } as TaskCall);
}

export const checkContext = ({ task, input }: TaskCall, model: Model, exact: boolean): void =>
	definitionOf(task).checkContext?.(input, model, exact);

export const droppedOf = ({ task, input }: TaskCall): readonly string[] | undefined =>
	definitionOf(task).dropped?.(input);

export const unsupportedBy = ({ task, input }: TaskCall, kind: string): Unsupported | undefined =>
	definitionOf(task).unsupportedBy?.(input, kind);

export const countInput = ({ task, input }: TaskCall): number | undefined =>
	definitionOf(task).countInput?.(input);

export const completeUsage = ({ task }: TaskCall, output: TaskOutput<TaskName>, measured: Measured): void =>
	definitionOf(task).completeUsage?.(output, measured);

export const discardedUsage = ({ task }: TaskCall, output: TaskOutput<TaskName>): Usage | undefined =>
	definitionOf(task).discardedUsage?.(output);
