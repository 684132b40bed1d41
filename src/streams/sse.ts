/**
 * Server-sent events: parsing, writing, and rewriting a stream event by event. `eventsource-parser` parses. An
 * `EventStream` carries the parsed events with their bytes, so that each event is parsed once.
 */
import { createParser } from "eventsource-parser";
import { type AiError, toAiError } from "../core/errors.ts";
import { Utf8Pieces } from "../media/utf8.ts";
import { DeltaEvent, type EventTemplate, Output, type Surroundings } from "./delta-event.ts";
import { PulledStream, type Source } from "./pulled-stream.ts";

export const SSE_CONTENT_TYPE = "text/event-stream";
export const DONE = "data: [DONE]\n\n";

/** A comment of the gateway: `: ganglion backend=… attempts=…`. */
export const gatewayComment = (text: string): string => `: ganglion ${text}\n\n`;

/** One event with a JSON body. */
export const frame = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;

/** One named event with a JSON body. OpenAI's Responses and Anthropic's Messages use them. */
export const namedFrame = (event: string, value: unknown): string =>
	`event: ${event}\ndata: ${JSON.stringify(value)}\n\n`;

/** Whether the `data` of an event marks the end of the stream. Some engines put white space or quotation marks around it. */
export const isDone = (data: string): boolean => data.includes("[") && /^\s*"?\[done\]"?\s*$/i.test(data);

/** One event, or a comment: an engine's keep-alive, or one of the gateway's. */
export type StreamEvent =
	/** `value`: `data` as parsed JSON, if a stage has parsed it. Read-only: stages share it. */
	{ data: string; value?: unknown } | { comment: string };

export const textOf = (event: StreamEvent): string =>
	"comment" in event ? `: ${event.comment}\n\n` : `data: ${event.data}\n\n`;

/**
 * Consecutive complete events of a stream, often one: their bytes, and the parsed events. Either may be empty. Both are
 * empty if a source has nothing to send yet: its reader pulls again.
 */
export interface EventPiece {
	readonly bytes: Uint8Array;
	readonly events: readonly StreamEvent[];
}

/** An event stream. Its readers get bytes; `eventsOf` gets the parsed events. */
export class EventStream extends PulledStream<Uint8Array> {
	readonly #pieces: Source<EventPiece>;

	constructor(pieces: Source<EventPiece>) {
		super({
			async pull() {
				for (;;) {
					// Read once: the getter may encode the bytes on each access.
					const bytes = (await pieces.pull())?.bytes;
					if (bytes?.length !== 0) return bytes;
				}
			},
			cancel: (reason) => pieces.cancel(reason),
		});
		this.#pieces = pieces;
	}

	/** Locks the stream and returns its events. Streams of other classes are parsed. */
	static eventsOf(stream: ReadableStream<Uint8Array>): Source<EventPiece> {
		const bytes = PulledStream.sourceOf(stream);
		return stream instanceof EventStream ? stream.#pieces : parseEvents(bytes);
	}
}

const NO_BYTES = new Uint8Array();

function parseEvents(from: Source<Uint8Array>): Source<EventPiece> {
	let events: StreamEvent[] = [];
	let ended = false;
	const text = new Utf8Pieces();
	const parser = createParser({
		onEvent: ({ data }) => events.push({ data }),
		onComment: (comment) => events.push({ comment }),
	});
	return {
		async pull() {
			if (ended) return undefined;
			const bytes = await from.pull();
			ended = bytes === undefined;
			// A last event without its blank line counts: all clients accept it.
			parser.feed(bytes ? text.decode(bytes) : `${text.end()}\n\n`);
			const piece = { bytes: bytes ?? NO_BYTES, events };
			events = [];
			return piece;
		},
		cancel: (reason) => from.cancel(reason),
	};
}

interface EventStages {
	/**
	 * Returns the text to send for one event, `""` for none. `value` is `data` as parsed JSON, if a stage has parsed it.
	 * An exception is a failure of the stream: see `onError`.
	 */
	onData(data: string, value?: unknown): string;
	/**
	 * Returns what surrounds the content of the next event, if the output has the bytes of its content. Otherwise, and when
	 * absent: {@link onData}.
	 */
	onDelta?(template: EventTemplate): Surroundings | undefined;
	/** Returns the text to send for a comment. Absent: comments are unchanged. */
	onComment?(comment: string): string;
	/** The source ended without a failure. Returns the last text. */
	onEnd?(): string;
	/** The source failed, or a stage threw. Returns text that a stage held back; it precedes the text of `onError`. */
	onFailure?(): string;
	/** The source failed, or a stage threw. Returns the last text. Absent: the failure errors the stream. */
	onError?(error: AiError): string;
}

/**
 * Rewrites an event stream event by event. Cancelling the result cancels `source`; a stage that throws cancels it, too,
 * with its `AiError` as the reason. The output of all events before a failure is sent, wherever the chunks end. Takes
 * over `source`.
 */
export function mapEvents(
	source: ReadableStream<Uint8Array>,
	stages: EventStages,
): ReadableStream<Uint8Array> {
	const out = new Output();
	let over = false;
	let failed: { error: unknown } | undefined;
	const from = EventStream.eventsOf(source);

	const fail = async (error: unknown): Promise<Uint8Array | undefined> => {
		await from.cancel(toAiError(error)).catch(() => {});
		out.add(stages.onFailure?.() ?? "");
		over = stages.onError !== undefined;
		if (stages.onError) out.add(stages.onError(toAiError(error)));
		// Erroring the stream now would discard this text: the next pull rejects.
		else if (!out.isEmpty) failed = { error };
		else throw error;
		return out.take();
	};
	const rewrite = (piece: EventPiece | undefined): void => {
		over = piece === undefined;
		if (!piece) out.add(stages.onEnd?.() ?? "");
		for (const event of piece?.events ?? []) {
			const surroundings = event instanceof DeltaEvent ? stages.onDelta?.(event.template) : undefined;
			if (surroundings && event instanceof DeltaEvent) out.addDelta(event, surroundings);
			else if ("comment" in event) out.add(stages.onComment?.(event.comment) ?? textOf(event));
			else out.add(stages.onData(event.data, event.value));
		}
	};
	/**
	 * Pulls until there is output; otherwise the reader would wait forever. A loop, because promises that resolve to one
	 * another form a chain that is kept in memory and settled link by link.
	 */
	const pullUntilOutput = async (): Promise<Uint8Array | undefined> => {
		try {
			while (out.isEmpty && !over) rewrite(await from.pull());
		} catch (error) {
			return fail(error);
		}
		return out.take();
	};
	const take = (piece: EventPiece | undefined): Uint8Array | undefined | Promise<Uint8Array | undefined> => {
		try {
			rewrite(piece);
		} catch (error) {
			return fail(error);
		}
		return !out.isEmpty || over ? out.take() : pullUntilOutput();
	};
	return new PulledStream<Uint8Array>({
		pull() {
			if (failed) return Promise.reject(failed.error);
			return over ? Promise.resolve(undefined) : from.pull().then(take, fail);
		},
		cancel: (reason) => from.cancel(reason),
	});
}
