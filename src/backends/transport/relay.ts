/**
 * Sends the output of an upstream's stream to the reader. An {@link EventReader} makes it: `chunk-stream.ts` forwards OpenAI chunks
 * unchanged, `translated-stream.ts` converts other formats to them.
 *
 * An incomplete or malformed event, or an error event, never reaches the reader. So the reader has only valid events, and
 * another upstream can continue the answer. A stream begins with its first event; comments before it are sent with it.
 */
import { AiError } from "../../core/errors.ts";
import { concat } from "../../media/bytes.ts";
import type { Deadline } from "../../outbound/deadline.ts";
import { CoalescingReader } from "../../streams/coalescing-reader.ts";
import type { Source } from "../../streams/pulled-stream.ts";
import { type EventPiece, EventStream } from "../../streams/sse.ts";
import {
	type EventReader,
	EventScanner,
	NO_EVENTS,
	type RelayedStream,
	type UpstreamStream,
} from "./event-scanner.ts";

/** Limit of the comments before the first event. Later ones are dropped: they are only keep-alives. */
const MAX_EARLY_BYTES = 4 * 1024;

/**
 * Takes over the stream. Resolves with the first event that is no comment. An end or a failure before it rejects, so that
 * another upstream can still be called. Cancelling the result aborts the upstream's fetch at once.
 */
export async function relay(stream: UpstreamStream, eventReader: EventReader): Promise<RelayedStream> {
	const source = new Relay(stream, eventReader);
	await stream.deadline.race(source.begin());
	return { events: new EventStream(source), progress: eventReader.progress };
}

type Read = ReadableStreamReadResult<Uint8Array>;

class Relay implements Source<EventPiece> {
	readonly #deadline: Deadline;
	readonly #eventReader: EventReader;
	readonly #reader: CoalescingReader;
	readonly #scanner: EventScanner;
	/** The first output, until it is pulled again. */
	#first: EventPiece | undefined;
	/** Comments before the first event. */
	#early: EventPiece | undefined;
	/** The stream is over. Its last output comes before its failure. */
	#ended: { piece?: EventPiece | undefined; failure?: AiError | undefined } | undefined;

	constructor(stream: UpstreamStream, eventReader: EventReader) {
		const { call, source, deadline } = stream;
		this.#deadline = deadline;
		this.#eventReader = eventReader;
		this.#reader = new CoalescingReader(source, call.services.now, call.coalesceMs);
		this.#scanner = new EventScanner(stream, eventReader);
		// Between two pulls, or during one.
		const onAbort = () => this.#end({ reason: deadline.signal.reason });
		if (deadline.signal.aborted) onAbort();
		else deadline.signal.addEventListener("abort", onAbort);
	}

	/** Waits for the first output. */
	async begin(): Promise<void> {
		let piece = await this.pull();
		while (piece === NO_EVENTS) piece = await this.pull();
		this.#first = piece;
	}

	pull(): Promise<EventPiece | undefined> {
		const first = this.#first;
		this.#first = undefined;
		if (first) return Promise.resolve(first);
		if (this.#ended || this.#scanner.failure) return this.#finish();
		this.#scanner.expectRead();
		return this.#reader.read().then(this.#onRead, this.#onReadFailure);
	}

	async cancel(): Promise<void> {
		this.#ended = {};
		this.#release(new AiError("aborted"));
	}

	readonly #onRead = ({ done, value }: Read): EventPiece | Promise<EventPiece | undefined> => {
		if (this.#ended) return this.#finish();
		this.#deadline.pause();
		return done ? this.#finish() : (this.#outputOf(this.#scanner.push(value)) ?? NO_EVENTS);
	};

	readonly #onReadFailure = (error: unknown): Promise<EventPiece | undefined> => {
		this.#end({ error });
		return this.#finish();
	};

	/** Comments are held back until the stream has begun. */
	#outputOf(read: EventPiece): EventPiece | undefined {
		const piece = this.#eventReader.output(read);
		const early = this.#early;
		if (!piece || (this.#scanner.hasBegun && !early)) return piece;
		const joined = join(early, piece);
		const isHeld = !this.#scanner.hasBegun;
		if (isHeld && joined.bytes.length <= MAX_EARLY_BYTES) this.#early = joined;
		else if (!isHeld) this.#early = undefined;
		return isHeld ? undefined : joined;
	}

	/** The upstream has ended, because of an `error` or of the gateway's `reason`. Only the first end counts. */
	#end(cause?: { error: unknown } | { reason: AiError }): void {
		if (this.#ended) return;
		const { remainder, output, failure } = this.#scanner.end(cause);
		const last = remainder && this.#outputOf(remainder);
		const piece = output ? join(last ?? this.#early, output) : last;
		this.#ended = { piece, failure };
		// A failure after the last output ends the call when it is pulled.
		if (!piece || !failure) this.#release(failure);
	}

	#release(failure?: AiError): void {
		if (failure) this.#deadline.abort(failure);
		else this.#deadline.close();
		this.#reader.cancel(failure).catch(() => {});
	}

	async #finish(): Promise<EventPiece | undefined> {
		this.#end();
		const { piece, failure } = this.#ended ?? {};
		this.#ended = { failure };
		if (piece || !failure) return piece;
		this.#release(failure);
		throw failure;
	}
}

const join = (one: EventPiece | undefined, other: EventPiece): EventPiece =>
	one ? { bytes: concat([one.bytes, other.bytes]), events: [...one.events, ...other.events] } : other;
