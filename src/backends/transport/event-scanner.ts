/**
 * Scans an upstream's stream: splits it into events, and handles the first event, the limits of size and time, the end and its failures.
 * An {@link EventReader} reads the events. `relay.ts` sends its output, `pass-through.ts` the upstream's own bytes.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import { concat } from "../../media/bytes.ts";
import type { Deadline } from "../../outbound/deadline.ts";
import { type EventFormat, EventSplitter } from "../../streams/event-splitter.ts";
import type { EventPiece, StreamEvent } from "../../streams/sse.ts";
import type { StreamProgress } from "./progress.ts";
import { heldBytes } from "./reply-body.ts";
import { type Call, failureOfInterruption, failureOfShape, failureOfSize } from "./upstream-failure.ts";

/** Limit of one event. The largest are images in base64. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
/** How long an upstream may keep the connection open after its last event. A connection that it closes can be reused. */
const CLOSE_GRACE_MS = 1000;
export const BLANK_LINE = new TextEncoder().encode("\n\n");

/** An event that is not in the format of the stream. */
export interface MalformedEvent {
	/** Its text, for the log. */
	received?: string;
	/** The format of the stream, for the message. Absent: a chat stream. */
	expected?: string;
}

/** Reads the events of one stream and makes the output. */
export interface EventReader {
	readonly format: EventFormat;
	readonly progress: StreamProgress;
	/** The last bytes read were an event, not a comment or an incomplete line. */
	readonly lastWasEvent: boolean;
	/** Clients would not read an event, or would read another one. Absent: not known. */
	readonly isOdd?: boolean;
	/** The answer is complete, and its end has been sent: what follows is ignored. */
	readonly done: boolean;
	/**
	 * Reads one event, its terminating line included, and appends its parsed form to `events`. Returns why the stream fails: the upstream's
	 * own error, or an event that cannot be read.
	 */
	read(event: Uint8Array, events: StreamEvent[]): AiError | MalformedEvent | undefined;
	/**
	 * Reads `count` complete events together, which is cheaper, for callers that do not need each parsed event. `false`:
	 * nothing was read, and each event must be read separately.
	 */
	readTogether?(bytes: Uint8Array, count: number): boolean;
	/** Makes the output for events that `read` has read: their original bytes, and their parsed form. */
	output(piece: EventPiece): EventPiece | undefined;
	/** The upstream has ended. Returns the remaining output; `undefined`: the answer is incomplete. Called once. */
	end(): EventPiece | undefined;
}

/** An upstream's stream whose header has arrived. The function that receives it owns the source and the deadline. */
export interface UpstreamStream {
	call: Call;
	source: ReadableStream<Uint8Array>;
	deadline: Deadline;
}

export interface RelayedStream {
	events: ReadableStream<Uint8Array>;
	progress: StreamProgress;
	/** For a stream that is passed through unchanged: see `Answer`. */
	ended?: Promise<AiError | undefined>;
}

/** Nothing to send: what was read completes no event, or only dropped ones, or all has been sent. */
export const NO_EVENTS: EventPiece = { bytes: new Uint8Array(), events: [] };

/** The end of a stream: its last output, or its failure. */
interface ScannedEnd {
	/** The bytes after the last blank line were an event. */
	isOpen: boolean;
	/** That event, if it is valid, with its blank line. */
	remainder?: EventPiece;
	output?: EventPiece;
	failure?: AiError;
}

export class EventScanner {
	/** An event that is no comment has been read. */
	hasBegun = false;
	/** Bytes before that event. */
	earlyBytes = 0;
	/** The failure of an event. The events before it have been read, and nothing is read after it. */
	failure: AiError | undefined;
	/** {@link failure} is the upstream's own error event. */
	isSentError = false;
	readonly #stream: Pick<UpstreamStream, "call" | "deadline">;
	readonly #reader: EventReader;
	readonly #together: boolean;
	readonly #splitter: EventSplitter;
	readonly #startedAt: number;
	/** Of incomplete events. */
	#held: ReturnType<typeof heldBytes> | undefined;
	#end: ScannedEnd | undefined;

	/** `together`: the parsed events are not needed, so those that arrive at once may be read together. */
	constructor(stream: UpstreamStream, reader: EventReader, together = false) {
		this.#stream = stream;
		this.#reader = reader;
		this.#together = together;
		this.#splitter = new EventSplitter(reader.format, "parted");
		this.#startedAt = stream.deadline.elapsedMs();
	}

	/** What follows is ignored. */
	get isOver(): boolean {
		return this.#reader.done || this.isSentError;
	}

	/** A read of the upstream is pending, of which `silentMs` have passed. Comments do not extend the wait for the first event. */
	expectRead(silentMs = 0): void {
		const { call, deadline } = this.#stream;
		const { idleMs, firstTokenMs } = call.target.timeouts;
		if (this.isOver) deadline.expect(Math.min(idleMs, CLOSE_GRACE_MS), silentMs);
		else if (this.hasBegun || firstTokenMs === undefined) deadline.expect(idleMs, silentMs);
		else {
			const waitedMs = deadline.elapsedMs() - this.#startedAt;
			deadline.expect(firstTokenMs, Math.min(waitedMs, firstTokenMs - 1));
		}
	}

	/** Reads the events that the bytes complete, up to the first invalid one, or to the end of the answer. Returns their original bytes. */
	push(chunk: Uint8Array): EventPiece {
		if (this.failure || this.#reader.done) return NO_EVENTS;
		const { bytes, ends } = this.#splitter.push(chunk);
		const events: StreamEvent[] = [];
		let validBytes = 0;
		try {
			if (this.#splitter.heldBytes > 0) this.#hold();
			if (this.#together && ends.length > 1 && this.#reader.readTogether?.(bytes, ends.length)) {
				this.hasBegun = true;
				return NO_EVENTS;
			}
			for (const end of ends) {
				this.#read(part(bytes, validBytes, end), events, failureOfEvent);
				if (this.failure) break;
				validBytes = end;
				if (this.#reader.done) break;
			}
		} catch (error) {
			// Of the event reader: without it the reader of the stream would wait for the end.
			this.failure = toAiError(error);
		}
		if (this.#splitter.heldBytes > MAX_EVENT_BYTES)
			this.failure ??= failureOfSize(this.#stream.call, "an event", MAX_EVENT_BYTES);
		this.hasBegun ||= events.some((event) => "data" in event);
		if (!this.hasBegun) this.earlyBytes += validBytes;
		return { bytes: part(bytes, 0, validBytes), events };
	}

	/**
	 * The upstream has ended. A last event without its blank line counts, because all clients accept it. `reason`: why the gateway
	 * aborted the call; `error`: why the connection broke.
	 */
	end({ reason, error }: { reason?: AiError; error?: unknown } = {}): ScannedEnd {
		this.#end ??= this.#conclude(reason, error);
		return this.#end;
	}

	#conclude(reason: AiError | undefined, error: unknown): ScannedEnd {
		const bytes = this.#splitter.takeRemainder();
		const isOpen = bytes.length > 0 && !this.#reader.done;
		if (this.failure) return { isOpen, failure: this.failure };
		try {
			const remainder = isOpen ? this.#readRemainder(bytes) : {};
			if (this.isSentError && this.failure) return { isOpen, failure: this.failure };
			if (reason?.key === "aborted") return { isOpen, failure: reason };
			const output = this.#reader.end();
			if (output) return { isOpen, ...remainder, output };
			const interruption = () => this.failure ?? failureOfInterruption(this.#stream.call, error);
			return { isOpen, ...remainder, failure: reason ?? interruption() };
		} catch (thrown) {
			return { isOpen, failure: toAiError(thrown) };
		}
	}

	#hold(): void {
		this.#held ??= heldBytes(this.#stream.call);
		this.#held.growTo(this.#splitter.heldBytes);
	}

	#readRemainder(cut: Uint8Array): Pick<ScannedEnd, "remainder"> {
		const bytes = concat([cut, BLANK_LINE]);
		const events: StreamEvent[] = [];
		this.#read(bytes, events, failureOfLastEvent);
		if (this.failure || !this.#reader.lastWasEvent) return {};
		this.hasBegun = true;
		return { remainder: { bytes, events } };
	}

	#read(event: Uint8Array, events: StreamEvent[], ifMalformed: typeof failureOfEvent): void {
		const failure = this.#reader.read(event, events);
		if (!failure) return;
		this.isSentError = failure instanceof AiError;
		this.failure = failure instanceof AiError ? failure : ifMalformed(this.#stream.call, failure);
	}
}

const failureOfEvent = (call: Call, { received, expected = "a chat stream" }: MalformedEvent): AiError =>
	failureOfShape(call, expected, received);
/** A last event that cannot be read was cut off. */
const failureOfLastEvent = (call: Call): AiError => failureOfInterruption(call);

/** Most reads return exactly one event: no view is made of it. */
const part = (bytes: Uint8Array, from: number, to: number): Uint8Array =>
	from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to);
