/**
 * A dialect is the format of one kind of caller: a reader for inputs and a writer for answers. Every model of the
 * catalogue has its own dialect (`/ai/run` and the binding); each OpenAI route has one dialect for all models. A dialect
 * depends neither on the entry point of the request nor on the engine that answers it.
 */
import type { z } from "zod";
import type { AiError, FailureKey } from "../core/errors.ts";
import type { Usage } from "../core/usage.ts";
import type { Media } from "../media/media.ts";
import type { Model } from "../models/model.ts";
import type { TaskAnswer, TaskCall } from "../tasks/task.ts";

/**
 * Reads the inputs of a model family.
 *
 * @example
 * ```ts
 * // test/extending/detect-language.ts
 * const Inputs = z.object({ text: z.string().min(1) });
 * export const detectLanguageReader: Reader = {
 * 	schema: () => Inputs,
 * 	read: ({ text }: z.output<typeof Inputs>) => ({ task: "language-detection" as never, input: { text } }),
 * };
 * ```
 */
export interface Reader {
	/**
	 * The inputs for this model, with its ranges and defaults. `models/schema` returns it as JSON Schema. Unknown
	 * properties are dropped, as in the product, unless the model's own schema forbids them. `strict`: refuses all inputs
	 * that the product refuses (`ResolvedRoute.strict`).
	 */
	schema(model: Model, strict?: boolean): z.ZodType;
	/**
	 * The input field for a body that is not JSON (an audio file, an image, a form). `raw`: the field contains the bytes.
	 * `wrapped`: the field contains `{body, contentType}`.
	 */
	body?: {
		field: string;
		as: "raw" | "wrapped";
		/** Whether the other inputs are query parameters, as text. */
		query?: true;
	};
	/** The format has a field `requests` of its own. Elsewhere it belongs to the product's queue, and is refused. */
	isBatch?: true;
	/**
	 * Converts the output of `schema` to a task's input. Synchronous, without I/O. Throws `AiError`. `targets`: the backends that may
	 * answer. A dialect that is also an upstream's own keeps more of the request for such a backend.
	 */
	read(inputs: never, model: Model, strict?: boolean, targets?: readonly { kind: string }[]): TaskCall;
}

/** An answer in the caller's format. The surface adds its envelope to `json`, and headers to all kinds. */
export type Rendered =
	/** `text`: the JSON of the value, if it already exists. Reading `value` is then expensive. */
	| { kind: "json"; readonly value: unknown; text?: string }
	| { kind: "bytes"; media: Media }
	/** A `text/event-stream` that never errors: a failure becomes its last event. */
	| { kind: "events"; events: ReadableStream<Uint8Array> }
	| { kind: "socket"; frames: SocketFrames };

/**
 * The two directions of a websocket. `readable` contains the frames for the caller. It closes at the end of the session. After
 * a failure it sends the dialect's error frame and then errors with an `AiError`. `writable` accepts the caller's frames;
 * aborting it ends the session at once. Frames after the end are dropped.
 */
export interface SocketFrames {
	readable: ReadableStream<string>;
	writable: WritableStream<string | Uint8Array>;
}

/** Converts a chat stream to the caller's events. Takes over `events`, a stream of OpenAI chunks. */
export type EventWriter = (
	events: ReadableStream<Uint8Array>,
	context: WriteContext,
) => ReadableStream<Uint8Array>;

export interface WriteContext {
	model: Model;
	/** The caller's inputs as the reader's schema parsed them. */
	inputs: unknown;
	/** The result of the reader. */
	call: TaskCall;
	/** Epoch milliseconds. */
	now: number;
	requestId: string;
	/** Returns a new random id for use inside the reply. */
	uuid(): string;
	/** Adds the cost to the token counts of a chat if the model has a price. */
	withCost(usage: Usage): Usage & { neurons?: number };
	/** The cost of a complete answer, with two decimals. */
	neurons?: number;
	/** Called at the end of a stream whose events have the engine's format. `isUnchanged`: the writer has changed none of them. */
	recordStream?(isUnchanged: boolean): void;
}

/** An engine's own stream of OpenAI chunks can be the answer. */
export interface PassThrough {
	formatError(failure: AiError): string;
	/** Writes the cost after the end, because the engine's usage does not have it. */
	formatCost(neurons: number): string;
	requestsUsage: boolean;
	/** The answer can have tool calls. */
	offersTools: boolean;
}

export interface Writer {
	/** Takes over `answer`: a stream in it is read to its end, or cancelled if the caller disconnects. */
	write(answer: TaskAnswer, context: WriteContext): Rendered;
	/**
	 * For dialects whose streams are OpenAI's chunks: whether an engine's own stream can be the answer without changes.
	 * Otherwise returns why the stream must be rewritten.
	 */
	canPassThrough?(request: { call: TaskCall; inputs: unknown }, model: Model): PassThrough | { why: string };
}

export interface Dialect {
	reader: Reader;
	writer: Writer;
	/** The failure of all inputs that are refused with the status 400. Absent: each has its own. */
	inputFailure?: FailureKey | undefined;
}

export interface NativeWriter extends Writer {
	/** The schema of the JSON (a function makes it at its first use), for `models/schema`, or the media type of the bytes. */
	schema: z.ZodType | (() => z.ZodType) | string;
}

/** A model's own dialect. */
export interface NativeDialect extends Dialect {
	writer: NativeWriter;
}
