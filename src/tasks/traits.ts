/** The properties of a call from its task's definition. They work for calls of any task. */
import type { Usage } from "../core/usage.ts";
import type { Measured } from "../counting/quantities.ts";
import type { Model } from "../models/model.ts";
import type { TaskDefinition, Unsupported } from "./definition.ts";
import { TASKS } from "./index.ts";
import type { TaskCall, TaskName, TaskOutput } from "./task.ts";

/** The table's type pairs each task with its input and output; the compiler cannot infer that for a union of calls. */
export const definitionOf = (task: TaskName): TaskDefinition<unknown, unknown> =>
	TASKS[task] as TaskDefinition<unknown, unknown>;

/** The answer is a session, not a value. */
export const isSession = (call: TaskCall): call is TaskCall<"live-transcription"> =>
	definitionOf(call.task).session === true;

/** A second engine may be called beside a slow one. */
export const isHedgeable = ({ task }: TaskCall): boolean => definitionOf(task).hedgeable ?? true;

/** Identical calls may share one answer. */
export const isShareable = ({ task, input }: TaskCall): boolean =>
	definitionOf(task).shareable?.(input) ?? true;

export type ResumableCall = TaskCall<"text-generation">;

/** Another engine can continue a stream that broke. */
export const isResumable = (call: TaskCall): call is ResumableCall =>
	definitionOf(call.task).resumable === true;

/** The number of requested alternatives. The output limit applies to each. */
export const choicesOf = ({ task, input }: TaskCall): number => definitionOf(task).choices?.(input) ?? 1;

/** The same call, with at most this many output tokens for all choices together. */
export function boundOutput(call: TaskCall, tokens: number): TaskCall {
	const bounded = definitionOf(call.task).boundOutput?.(call.input, tokens);
	// A definition returns the type of its input.
	return bounded === undefined ? call : ({ task: call.task, input: bounded } as TaskCall);
}

/**
 * Throws the model's `AiError` for input that cannot fit its context window.
 * @param exact the engine counts tokens as the gateway does. Otherwise only input that is certainly too long is refused.
 */
export const checkContext = ({ task, input }: TaskCall, model: Model, exact: boolean): void =>
	definitionOf(task).checkContext?.(input, model, exact);

/** Parts of the request that the answer ignores. Never an empty list. */
export const droppedOf = ({ task, input }: TaskCall): readonly string[] | undefined =>
	definitionOf(task).dropped?.(input);

/** Why backends of this kind cannot answer this call, although they have the task. */
export const unsupportedBy = ({ task, input }: TaskCall, kind: string): Unsupported | undefined =>
	definitionOf(task).unsupportedBy?.(input, kind);

/** Tokens of the input by our own count. `undefined`: the task's input is not counted. */
export const countInput = ({ task, input }: TaskCall): number | undefined =>
	definitionOf(task).countInput?.(input);

/** Writes our own count into an output without counts, for dialects that show it. */
export const completeUsage = ({ task }: TaskCall, output: TaskOutput<TaskName>, measured: Measured): void =>
	definitionOf(task).completeUsage?.(output, measured);

/** The engine's counts of a discarded output, which is billed. */
export const discardedUsage = ({ task }: TaskCall, output: TaskOutput<TaskName>): Usage | undefined =>
	definitionOf(task).discardedUsage?.(output);
