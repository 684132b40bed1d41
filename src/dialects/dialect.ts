/**
 * A dialect is how one kind of caller writes its inputs and reads its answers: a reader and a writer. Every model of
 * the catalogue has one of its own (`/ai/run` and the binding); each OpenAI route has one for all models. A dialect
 * knows neither the door the request came through nor the engine that will answer.
 */
import type { z } from "zod";
import type { Usage } from "../core/usage.ts";
import type { Media } from "../media/media.ts";
import type { Model } from "../models/model.ts";
import type { StreamErrorFormatter, TaskAnswer, TaskCall } from "../tasks/task.ts";

export interface Reader {
	/**
	 * What the caller may send, for this model: its ranges, its defaults. `models/schema` shows it as JSON Schema.
	 * Unknown properties are dropped, as the product does, unless the model's own schema forbids them. `strict`: what the
	 * product refuses is refused (`Routed.strict`).
	 */
	schema(model: Model, strict?: boolean): z.ZodType;
	/**
	 * The input that a body which is not JSON stands for (an audio file, an image, a form), and how it is put there:
	 * `raw`, as the bytes; `wrapped`, as `{body, contentType}`.
	 */
	body?: {
		field: string;
		as: "raw" | "wrapped";
		/** The other inputs are parameters of the address then, as text. */
		query?: true;
	};
	/** Parsed inputs, as `schema` gives them, to a task's input. Throws `AiError`. Reads nothing, calls nothing. */
	read(inputs: never, model: Model, strict?: boolean): TaskCall;
}

/** An answer written for the caller; the surface adds its envelope to `json` and headers to all. */
export type Rendered =
	/** `text`: the value's JSON, where that is at hand; the value is then dear to look at. */
	| { kind: "json"; readonly value: unknown; text?: string }
	| { kind: "bytes"; media: Media }
	/** A finished `text/event-stream`; never errors: a failure has become its last frame. */
	| { kind: "events"; events: ReadableStream<Uint8Array> }
	| { kind: "socket"; frames: SocketFrames };

/**
 * The two directions of a websocket. `readable` is what the caller is sent: it ends with the conversation, or, after
 * the dialect's own frame about it, errors with an `AiError`. `writable` takes what the caller sends; aborting it ends
 * the conversation at once. Frames that come after the end are dropped.
 */
export interface SocketFrames {
	readable: ReadableStream<string>;
	writable: WritableStream<string | Uint8Array>;
}

export interface WriteContext {
	model: Model;
	/** The caller's inputs as the reader's schema parsed them. */
	inputs: unknown;
	/** What the reader made of them. */
	call: TaskCall;
	/** Epoch milliseconds. */
	now: number;
	requestId: string;
	/** A new random id, for the ids inside replies. */
	uuid(): string;
	/** Counts of a chat together with what they cost, where the model has a price. */
	priced(usage: Usage): Usage & { neurons?: number };
	/** What a whole answer cost, two decimals. */
	neurons?: number;
}

export interface Writer {
	/** The JSON that it writes, for `models/schema`; or the media type of the bytes. */
	schema: z.ZodType | string;
	/** Takes over `answer`: a stream in it is read to its end, or cancelled when the caller leaves. */
	write(answer: TaskAnswer, context: WriteContext): Rendered;
	/**
	 * Of a dialect whose streams are OpenAI's chunks: how one ends that failed, where an engine's own stream may be the
	 * answer to this call as it is. `undefined`: it must be looked at, or is no stream.
	 */
	passesOn?(call: TaskCall, model: Model): StreamErrorFormatter | undefined;
}

export interface Dialect {
	reader: Reader;
	writer: Writer;
}
