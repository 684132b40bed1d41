/**
 * Forwards an upstream's stream to the reader: splits it into events, and handles time limits, the first event, the end,
 * failures and cancellation. An {@link EventReader} converts the events: `chunk-stream.ts` forwards OpenAI chunks
 * unchanged, `translated-stream.ts` converts other formats to them.
 *
 * An incomplete or malformed event, or an error event, never reaches the reader. So the reader has only valid events, and
 * another upstream can continue the answer. A stream begins with its first event; comments before it are sent with it.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import { concat } from "../../media/bytes.ts";
import type { Deadline } from "../../outbound/deadline.ts";
import { CoalescingReader } from "../../streams/coalescing-reader.ts";
import { type EventFormat, EventSplitter } from "../../streams/event-splitter.ts";
import { type EventPiece, EventStream, type StreamEvent } from "../../streams/sse.ts";
import type { StreamProgress } from "./progress.ts";
import { heldBytes } from "./reply-body.ts";
import { type Call, failureOfInterruption, failureOfShape, failureOfSize } from "./upstream-failure.ts";

/** Limit of one event. The largest are images in base64. */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024;
/** Limit of the comments before the first event. Later ones are dropped: they are only keep-alives. */
const MAX_EARLY_BYTES = 4 * 1024;
/** How long an upstream may keep the connection open after its last event. A connection that it closes can be reused. */
export const CLOSE_GRACE_MS = 1000;

/** `received`: the text of the event. */
export type FailureOfCall = (call: Call, received?: string) => AiError;

/** Reads the events of one stream and makes the output. */
export interface EventReader {
	readonly format: EventFormat;
	readonly progress: StreamProgress;
	/** The last bytes read were an event, not a comment or an incomplete line. */
	readonly lastWasEvent: boolean;
	/** The answer is complete, and its end has been sent: what follows is ignored. */
	readonly done: boolean;
	/** Reads one event, its terminating line included, and appends its parsed form to `events`. */
	read(event: Uint8Array, ifMalformed: FailureOfCall, events: StreamEvent[]): AiError | undefined;
	/**
	 * Reads `count` complete events together, which is cheaper, for callers that do not need each parsed event. `false`:
	 * nothing was read, and each event must be read separately.
	 */
	readTogether?(bytes: Uint8Array, count: number): boolean;
	/** Makes the output for events that `read` has read: their original bytes, and their parsed form. */
	output(bytes: Uint8Array, events: readonly StreamEvent[]): EventPiece | undefined;
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

/** The arguments of `deadline.expect`. */
export type ReadLimit = [limitMs: number, silentMs?: number];

/** The limit of each read, for a stream that starts now. Comments do not extend the wait for the first event. */
export function readLimits({ call, deadline }: UpstreamStream): (hasBegun: boolean) => ReadLimit {
	const { idleMs, firstTokenMs } = call.target.timeouts;
	if (firstTokenMs === undefined) return () => [idleMs];
	const startedAt = deadline.elapsedMs();
	return (hasBegun) =>
		hasBegun ? [idleMs] : [firstTokenMs, Math.min(deadline.elapsedMs() - startedAt, firstTokenMs - 1)];
}

/**
 * Takes over the stream. Resolves with the first event that is no comment. An end or a failure before it rejects, so that
 * another upstream can still be called. Cancelling the result aborts the upstream's fetch at once.
 */
export async function relay(stream: UpstreamStream, eventReader: EventReader): Promise<RelayedStream> {
	const { call, source, deadline } = stream;
	const { idleMs } = call.target.timeouts;
	const readLimit = readLimits(stream);
	let begun = false;
	/** Comments before the first event. */
	let early: EventPiece | undefined;
	const reader = new CoalescingReader(source, () => deadline.elapsedMs());
	const splitter = new EventSplitter(eventReader.format);
	/** Of incomplete events. */
	const held = heldBytes(call);
	let over = false;
	/** The failure of an event that has been read. It is reported after the valid events before it. */
	let failure: AiError | undefined;

	const release = (reason: AiError) => {
		over = true;
		deadline.abort(reason);
		reader.cancel(reason).catch(() => {});
	};
	/** Releases the upstream once; later calls only throw. */
	const fail = (error: unknown): never => {
		const reason = toAiError(error);
		if (!over) release(reason);
		throw reason;
	};
	/** The upstream has ended. Returns the remaining output if the answer is complete. */
	const end = (): EventPiece | undefined => {
		const piece = eventReader.end();
		if (!piece) return undefined;
		over = true;
		deadline.close();
		reader.cancel().catch(() => {});
		return piece;
	};
	/** Reads the events up to the first invalid one. */
	const readEvents = (chunk: Uint8Array): EventPiece | undefined => {
		const { bytes, ends } = splitter.push(chunk);
		held.growTo(splitter.heldBytes);
		const events: StreamEvent[] = [];
		let validBytes = 0;
		for (const end of ends) {
			failure = eventReader.read(part(bytes, validBytes, end), failureOfEvent, events);
			if (failure) break;
			validBytes = end;
			if (eventReader.done) break;
		}
		if (splitter.heldBytes > MAX_EVENT_BYTES) failure ??= failureOfSize(call, "an event", MAX_EVENT_BYTES);
		return eventReader.output(part(bytes, 0, validBytes), events);
	};
	/** A last event without its blank line counts: all clients accept it. */
	const readRemainder = (): EventPiece | undefined => {
		const remainder = splitter.takeRemainder();
		if (remainder.length === 0 || eventReader.done) return end() ?? fail(failureOfInterruption(call));
		const lastEvent = concat([remainder, BLANK_LINE]);
		const events: StreamEvent[] = [];
		const error = eventReader.read(lastEvent, failureOfLastEvent, events);
		if (error || !eventReader.lastWasEvent) return end() ?? fail(error ?? failureOfInterruption(call));
		return eventReader.output(lastEvent, events);
	};
	/** How the deadline ended the stream, between two pulls or during one. */
	let ending: { piece: EventPiece } | { error: AiError } | undefined;
	const takeEnding = (): EventPiece | undefined => {
		if (!ending) return undefined;
		if ("error" in ending) throw ending.error;
		const { piece } = ending;
		ending = undefined;
		return piece;
	};
	const finish = async () => (over || !failure ? takeEnding() : fail(failure));
	/** Holds comments back until the stream has begun. */
	const holdComments = (piece: EventPiece | undefined): EventPiece | undefined => {
		if (begun || !piece) return piece;
		const joined = early ? join(early, piece) : piece;
		begun = piece.events.some((event) => "data" in event) || piece.bytes.length === 0;
		if (begun) return joined;
		if (joined.bytes.length <= MAX_EARLY_BYTES) early = joined;
		return undefined;
	};
	const takeRead = ({ done, value }: ReadableStreamReadResult<Uint8Array>): EventPiece | undefined => {
		if (over) return takeEnding();
		deadline.pause();
		try {
			return holdComments(done ? readRemainder() : eventReader.done ? undefined : readEvents(value));
		} catch (error) {
			// An exception of the event reader must abort the fetch, too.
			return fail(error);
		}
	};
	const onRead = (
		read: ReadableStreamReadResult<Uint8Array>,
	): EventPiece | undefined | Promise<EventPiece | undefined> => takeRead(read) ?? readUntilOutput();
	const onReadFailure = (error: unknown): EventPiece | undefined => {
		if (over) return takeEnding();
		return holdComments(end()) ?? fail(failureOfInterruption(call, error));
	};
	const read = (): Promise<ReadableStreamReadResult<Uint8Array>> => {
		if (eventReader.done) deadline.expect(Math.min(idleMs, CLOSE_GRACE_MS));
		else deadline.expect(...readLimit(begun));
		return reader.read();
	};
	/**
	 * Reads until there is output; otherwise the reader would wait forever. A loop, because promises that resolve to one
	 * another form a chain that is kept in memory and settled link by link.
	 */
	const readUntilOutput = async (): Promise<EventPiece | undefined> => {
		while (!over && !failure) {
			const piece = await read().then(takeRead, onReadFailure);
			if (piece) return piece;
		}
		return finish();
	};
	const advance = (): Promise<EventPiece | undefined> =>
		over || failure ? finish() : read().then(onRead, onReadFailure);
	/** The first output, until it is pulled. */
	let first = await deadline.race(advance()).catch(fail);

	const onAbort = () => {
		if (over) return;
		const error: AiError = deadline.signal.reason;
		const piece = error.key === "aborted" ? undefined : end();
		if (!piece) release(error);
		ending = piece ? { piece } : { error };
	};
	deadline.signal.addEventListener("abort", onAbort);
	if (deadline.signal.aborted) onAbort();

	const events = new EventStream({
		pull() {
			if (!first) return advance();
			const piece = first;
			first = undefined;
			return Promise.resolve(piece);
		},
		async cancel() {
			release(new AiError("aborted"));
		},
	});
	return { events, progress: eventReader.progress };
}

const join = (one: EventPiece, other: EventPiece): EventPiece => ({
	bytes: concat([one.bytes, other.bytes]),
	events: [...one.events, ...other.events],
});

export const BLANK_LINE = new TextEncoder().encode("\n\n");
/** A last event that cannot be read was cut off. */
export const failureOfLastEvent: FailureOfCall = (call) => failureOfInterruption(call);
export const failureOfEvent: FailureOfCall = (call, received) =>
	failureOfShape(call, "a chat stream", received);

/** Most reads return exactly one event: no view is made of it. */
const part = (bytes: Uint8Array, from: number, to: number): Uint8Array =>
	from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to);
