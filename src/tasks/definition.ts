/**
 * The definition of a task: the cost of its calls, and the properties that the pipeline uses. No file outside this folder,
 * the dialects and the backends compares the name of a task.
 */
import type { Usage } from "../core/usage.ts";
import type { Estimate, Measured } from "../counting/quantities.ts";
import type { Model } from "../models/model.ts";

/**
 * A row of `TASKS`. `estimate` and `measure` are required; what else a task needs differs from the defaults that each property names.
 *
 * @example
 * ```ts
 * // test/extending/language-detection/index.ts
 * export const languageDetection: TaskDefinition<DetectLanguageInput, DetectLanguageOutput> = {
 * 	estimate: ({ text }) => tokenUpperBound(maxEncoderTokens([text])),
 * 	measure: ({ text }, _, model) => estimatedTokens(truncatedTokens([text], model)),
 * };
 * ```
 */
export interface TaskDefinition<Input, Output> {
	/**
	 * The maximum cost of a call: the amount to reserve.
	 *
	 * Text has at most one token per byte, audio has the duration of its metadata, and images have the requested number and
	 * size. These have no bound before the call, so the estimate may be too low: output without a limit (`outputUnbounded`; a
	 * limit can be sent to the engine), the answers of a decision, an audio file with wrong metadata, a session of live
	 * transcription, and input that Anthropic adds itself (files by id, results of server tools).
	 */
	estimate: (input: Input, model: Model) => Estimate;
	/**
	 * The usage of a complete answer: the engine's counts, or ours, which never exceed the requested output limit.
	 */
	measure: (input: Input, output: Output, model: Model) => Measured;
	/**
	 * The usage of a stream after `outputTokens` were sent, if the engine sends no counts. Absent: input is not
	 * counted.
	 */
	measureStream?: (input: Input, outputTokens: number) => Measured;
	/**
	 * Tokens of the input by our own count, for the routes that only count tokens. Absent: they do not support the
	 * task.
	 */
	countInput?: (input: Input) => number;
	/** Writes our own count into an output without counts, for dialects that show it. */
	completeUsage?: (output: Output, measured: Measured) => void;
	/** The engine's counts of a discarded output, which is billed. Absent: a discarded output costs nothing. */
	discardedUsage?: (output: Output) => Usage | undefined;

	/**
	 * The answer is a session with its own end, not a value: it waits for admission, and is bounded and billed while it
	 * runs.
	 */
	session?: true;
	/** `false`: a second engine must not be called beside a slow one. */
	hedgeable?: false;
	/** Whether identical calls may share one answer. Absent: always. */
	shareable?: (input: Input) => boolean;
	/** Another engine can continue a stream that broke. Its input and output are those of a chat. */
	resumable?: true;

	/** The number of requested alternatives. The output limit applies to each. Absent: one. */
	choices?: (input: Input) => number;
	/** Maximum tokens of one choice. `undefined`, or absent: the model's context window is the limit. */
	outputLimit?: (input: Input) => number | undefined;
	/**
	 * Lowers the output limit, so that all choices together have at most `tokens`. Absent: the output has no limit to
	 * set.
	 */
	boundOutput?: (input: Input, tokens: number) => Input;
	/** The prompt, for the choice among the replicas of an engine. Absent: calls of the task count as equally large. */
	prompt?: (input: Input) => Prompt;
	/** Whether the engine may fetch input that the call does not contain. */
	fetchesInput?: (input: Input) => boolean;
	/**
	 * Throws the model's `AiError` for input that cannot fit its context window.
	 * @param exact the engine counts tokens as the gateway does. Otherwise only input that is certainly too long is refused.
	 */
	checkContext?: (input: Input, model: Model, exact: boolean) => void;

	/** Why backends of this kind cannot answer this call, although they have the task. */
	unsupportedBy?: (input: Input, kind: string) => Unsupported | undefined;
	/** Parts of the request that the answer ignores. Never an empty list. `kind`: of the backend that answers. */
	dropped?: (input: Input, kind: string | undefined) => readonly string[] | undefined;
}

export interface Prompt {
	/** In the order in which the engine reads them. */
	texts: string[];
	/**
	 * How many of the texts every request of the same conversation begins with. 0 if there are no conversations, so that
	 * a cache of prompts is of no use.
	 */
	openingTexts: number;
	/** Tokens of images, audio and files, roughly. */
	mediaTokens: number;
	/** The LoRA adapter that processes it. Engines cache a prompt for each adapter by itself. */
	adapter?: string;
}

export interface Unsupported {
	failure: "noSuchModel" | "invalidInput";
	/** The input's field, for `invalidInput`. */
	field?: string;
	/** Completes a sentence that begins with the backend's name. */
	reason: string;
}
