/**
 * Bytes to events and back. Parsing is `eventsource-parser`'s; what is ours is the pull-through: one event in, text
 * out, an end and a failure that the caller of this file decides about, and a cancel that reaches the source. Events
 * that somebody has read already go on with their bytes (`EventStream`), so that each is read once.
 */
import { createParser } from "eventsource-parser";
import { type AiError, toAiError } from "../core/errors.ts";
import { PulledStream, type Source } from "./pulled-stream.ts";

export const SSE_CONTENT_TYPE = "text/event-stream";
export const DONE = "data: [DONE]\n\n";

/** How comments begin that are ours: `: ganglion backend=… attempts=…`. */
const OWN_COMMENT = "ganglion ";
export const ownComment = (text: string): string => `: ${OWN_COMMENT}${text}\n\n`;

/** One event with a JSON body. */
export const frame = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;

/** One named event with a JSON body, as OpenAI's Responses and Anthropic's Messages have them. */
export const namedFrame = (event: string, value: unknown): string =>
	`event: ${event}\ndata: ${JSON.stringify(value)}\n\n`;

/** Whether the `data` of an event is the end of a stream. Some engines have white space around it. */
export const isDone = (data: string): boolean => data.trim() === "[DONE]";

/** One event as far as it is looked at, or a comment: an engine's keep-alive, or one of ours. */
export type StreamEvent =
	/** `value`: what `data` is as JSON, where somebody has parsed it. Whoever is given it changes nothing in it. */
	{ data: string; value?: unknown } | { comment: string };

export const textOf = (event: StreamEvent): string =>
	"comment" in event ? `: ${event.comment}\n\n` : `data: ${event.data}\n\n`;

/** Some whole events of a stream, often one: their bytes, and what they say. Either may be empty. */
export interface EventPiece {
	readonly bytes: Uint8Array;
	readonly events: readonly StreamEvent[];
}

/** An event stream that is bytes to whoever reads it, and events to whoever takes it over with `eventsOf`. */
export class EventStream extends PulledStream<Uint8Array> {
	readonly #pieces: Source<EventPiece>;

	constructor(pieces: Source<EventPiece>) {
		super({
			async pull() {
				for (;;) {
					// Asked for once: they may be made only now.
					const bytes = (await pieces.pull())?.bytes;
					if (bytes?.length !== 0) return bytes;
				}
			},
			cancel: (reason) => pieces.cancel(reason),
		});
		this.#pieces = pieces;
	}

	/** Takes the stream over, of whatever kind it is: it is locked. */
	static eventsOf(stream: ReadableStream<Uint8Array>): Source<EventPiece> {
		const bytes = PulledStream.sourceOf(stream);
		return stream instanceof EventStream ? stream.#pieces : parsed(bytes);
	}
}

const NO_BYTES = new Uint8Array();

function parsed(from: Source<Uint8Array>): Source<EventPiece> {
	let events: StreamEvent[] = [];
	let ended = false;
	const decoder = new TextDecoder();
	const parser = createParser({
		onEvent: ({ data }) => events.push({ data }),
		onComment: (comment) => events.push({ comment }),
	});
	return {
		async pull() {
			if (ended) return undefined;
			const bytes = await from.pull();
			ended = bytes === undefined;
			// A last event without its blank line still counts, as every client treats it.
			parser.feed(ended ? `${decoder.decode()}\n\n` : decoder.decode(bytes, { stream: true }));
			const piece = { bytes: bytes ?? NO_BYTES, events };
			events = [];
			return piece;
		},
		cancel: (reason) => from.cancel(reason),
	};
}

interface EventStages {
	/**
	 * One event; the text to send for it, `""` for nothing. `value` is what `data` is as JSON, where somebody has parsed
	 * it. A throw becomes `onError`.
	 */
	onData(data: string, value?: unknown): string;
	/** The text to send for a comment. Without it comments stay. */
	onComment?(comment: string): string;
	/** The source ended by itself. */
	onEnd?(): string;
	/** The source failed, or a stage threw: text that was held back, to be sent before anything is said of the failure. */
	onFailure?(): string;
	/** The source failed, or a stage threw: the last text to send. Without it the failure errors the stream. */
	onError?(error: AiError): string;
}

/**
 * Rewrites an event stream event by event; comments stay. Cancelling the result cancels `source`; a failing stage does
 * too, with its `AiError` as the reason. What the events before a failure became is sent, however the network cut the
 * bytes. Takes over `source`.
 */
export function mapEvents(
	source: ReadableStream<Uint8Array>,
	stages: EventStages,
): ReadableStream<Uint8Array> {
	let out = "";
	let over = false;
	let failed: { error: unknown } | undefined;
	const from = EventStream.eventsOf(source);
	const encoder = new TextEncoder();

	const send = (): Uint8Array | undefined => {
		const text = out;
		out = "";
		return text ? encoder.encode(text) : undefined;
	};
	const fail = async (error: unknown): Promise<Uint8Array | undefined> => {
		await from.cancel(toAiError(error)).catch(() => {});
		out += stages.onFailure?.() ?? "";
		over = stages.onError !== undefined;
		if (stages.onError) out += stages.onError(toAiError(error));
		// An error at once would take back what is sent here: it is for the next pull.
		else if (out) failed = { error };
		else throw error;
		return send();
	};
	const hear = (piece: EventPiece | undefined): void => {
		over = piece === undefined;
		if (!piece) out += stages.onEnd?.() ?? "";
		else
			for (const event of piece.events)
				out +=
					"comment" in event
						? (stages.onComment?.(event.comment) ?? textOf(event))
						: stages.onData(event.data, event.value);
	};
	/**
	 * A pull that gives nothing to send must be followed by another, or the puller would wait for ever. A loop: pulls
	 * that return one another are a chain, which is kept for as long as it is silent, and settled link by link.
	 */
	const waitOn = async (): Promise<Uint8Array | undefined> => {
		try {
			while (!out && !over) hear(await from.pull());
		} catch (error) {
			return fail(error);
		}
		return send();
	};
	const take = (piece: EventPiece | undefined): Uint8Array | undefined | Promise<Uint8Array | undefined> => {
		try {
			hear(piece);
		} catch (error) {
			return fail(error);
		}
		return out || over ? send() : waitOn();
	};
	return new PulledStream<Uint8Array>({
		pull() {
			if (failed) return Promise.reject(failed.error);
			return over ? Promise.resolve(undefined) : from.pull().then(take, fail);
		},
		cancel: (reason) => from.cancel(reason),
	});
}
