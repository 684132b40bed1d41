/**
 * The tasks, independent of the caller's dialect and of the backend. A dialect converts a request into one of these
 * inputs, and a backend answers with the matching output.
 */
import type { AiError } from "../core/errors.ts";
import type { Usage } from "../core/usage.ts";
import type { TaskDefinition } from "./definition.ts";
import type { TASKS } from "./index.ts";

/** Input and output of each task, as its definition has them. */
export type Tasks = {
	[Name in keyof typeof TASKS]: (typeof TASKS)[Name] extends TaskDefinition<infer Input, infer Output>
		? { input: Input; output: Output }
		: never;
};

export type TaskName = keyof Tasks;
export type TaskInput<Name extends TaskName> = Tasks[Name]["input"];
export type TaskOutput<Name extends TaskName> = Tasks[Name]["output"];

/** One call: a task and its input. */
export type TaskCall<Name extends TaskName = TaskName> = {
	[N in Name]: { task: N; input: TaskInput<N> };
}[Name];

/**
 * The answer of a backend.
 *
 * `stream` exists for text generation only: the bytes of an OpenAI `chat.completion.chunk` event stream with a usage
 * chunk. It either ends after `data: [DONE]` or *errors* with an `AiError`; it never just stops. Its owner must read it to
 * the end or cancel it; cancelling stops the upstream.
 *
 * Parsed events are kept with the bytes: a stage in this isolate takes them with `EventStream.eventsOf` and returns
 * another `EventStream`. Any other stream of bytes is also accepted; it is parsed there.
 *
 * `outputs` exists for tasks with one value, whose engine sends unfinished versions of it first: unfinished images. The stream
 * ends after the complete output or *errors* with an `AiError`; its owner reads or cancels it, as above.
 *
 * A stream with `ended` is sent to the caller unchanged (see `StreamEndFormatter`): it never errors, and no stage reads
 * it. `ended` resolves when the stream is over, with the failure that interrupted it, if any; it never rejects.
 */
export type Answer<Name extends TaskName = TaskName> =
	| { kind: "value"; output: TaskOutput<Name> }
	| ([Name] extends ["text-generation"]
			? never
			: { kind: "outputs"; outputs: ReadableStream<StreamedOutput<TaskOutput<Name>>> })
	| {
			kind: "stream";
			events: ReadableStream<Uint8Array>;
			progress: Progress;
			ended?: Promise<AiError | undefined>;
	  };

/** One version of an output. The complete one is the last. */
export interface StreamedOutput<Output> {
	output: Output;
	isComplete: boolean;
}

/** Cancels an answer that has no reader. */
export function cancelAnswer(answer: Answer): void {
	const stream =
		answer.kind === "stream" ? answer.events : answer.kind === "outputs" ? answer.outputs : undefined;
	stream?.cancel().catch(() => {});
}

/**
 * Writes what follows a stream that was passed through unchanged, in the caller's dialect. Only dialects whose callers accept
 * an engine's own stream have one.
 */
export interface StreamEndFormatter {
	onFailure(failure: AiError): string;
	/** Absent: nothing follows a complete stream. */
	onComplete?(progress: Progress): string;
	/** The stream also passes if the gateway would repair it, as long as clients can read its events. */
	acceptsFaults?: true;
}

/**
 * How much of a stream its reader has received. The stream's producer keeps it current, so that it is correct whenever the
 * stream ends: at `[DONE]`, at a failure, or when the caller disconnects.
 */
export interface Progress {
	/** The engine's own counts, the latest ones. */
	readonly usage: Usage | undefined;
	/** Our estimate of the output tokens, for engines without counts. */
	readonly outputTokens: number;
	/** An event of the engine had to be changed, so its next streams must be read. */
	readonly isRepaired?: boolean;
	/** The most tool calls of one choice. */
	readonly toolCalls?: number;
}

/** An answer together with the task that it answers. */
export type TaskAnswer<Name extends TaskName = TaskName> = {
	[N in Name]: { task: N; answer: Answer<N> };
}[Name];
