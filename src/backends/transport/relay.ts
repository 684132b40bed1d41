/**
 * An upstream's stream on its way to the reader: events out of bytes, time, the first event, the end, failures and
 * cancelling. What becomes of an event is an {@link EventReader}'s matter: passed on as it came (`event-stream.ts`), or
 * said in OpenAI's words (`translated-stream.ts`).
 *
 * An event that is cut, malformed or an error never reaches the reader, so what it has is always good and another
 * upstream may go on from there. A stream begins with its first event: comments before it are kept, and passed on with it.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import { concat } from "../../media/bytes.ts";
import { type EventFormat, EventSplitter } from "../../streams/event-splitter.ts";
import { type EventPiece, EventStream, type StreamEvent } from "../../streams/sse.ts";
import type { Deadline } from "./deadline.ts";
import type { StreamProgress } from "./progress.ts";
import { type Call, failureOfCut, failureOfShape, failureOfSize } from "./upstream-failure.ts";

/** Room for one event. The largest are images in base64. */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024;
/** Of comments before the first event. Later ones are dropped: all that they say is that the upstream is alive. */
const MAX_EARLY_BYTES = 4 * 1024;
/** How long an upstream may keep its connection after its last event. Waiting for its end lets it be used again. */
export const CLOSE_GRACE_MS = 1000;

export type FailureOfCall = (call: Call) => AiError;

/** Reads one stream's events, and says what to pass on for them. */
export interface EventReader {
	readonly format: EventFormat;
	readonly progress: StreamProgress;
	/** The last bytes seen were an event, not a comment or half a line. */
	readonly sawEvent: boolean;
	/** The answer is over, and its end has been passed on: nothing that follows is looked at. */
	readonly done: boolean;
	/** Reads one event, the line that ends it included; what it says is added to `said`. */
	see(event: Uint8Array, ifMalformed: FailureOfCall, said: StreamEvent[]): AiError | undefined;
	/**
	 * Reads so many whole events together, which is cheaper, for who does not need what each of them says. `false`:
	 * they must be seen one by one, and nothing has been read.
	 */
	seeTogether?(events: Uint8Array, count: number): boolean;
	/** What to pass on for some events, if anything: their bytes as they came, and what `see` said of them. */
	pass(bytes: Uint8Array, said: readonly StreamEvent[]): EventPiece | undefined;
	/** The upstream has stopped: what is left to pass on; `undefined`: it stopped too soon. Asked once. */
	end(): EventPiece | undefined;
}

export interface Relayed {
	events: ReadableStream<Uint8Array>;
	progress: StreamProgress;
	/** Of a stream that is passed on as it is: see `Answer`. */
	ended?: Promise<AiError | undefined>;
}

/**
 * Takes over `source` and `deadline`. Resolves with the first event that is no comment; what ends or fails before that
 * fails here, while another upstream can still be asked. Cancelling the result ends the upstream's fetch at once.
 */
export async function relay(
	call: Call,
	source: ReadableStream<Uint8Array>,
	deadline: Deadline,
	watch: EventReader,
): Promise<Relayed> {
	const { now } = call.world;
	const { idleMs, firstTokenMs } = call.target.timeouts;
	/** Whatever the upstream sends to keep its caller waiting. */
	const firstBy = firstTokenMs === undefined ? undefined : now() + firstTokenMs;
	let begun = false;
	/** Comments before the first event. */
	let early: EventPiece | undefined;
	const reader = source.getReader();
	const splitter = new EventSplitter(watch.format);
	let over = false;
	/** Of an event that has been seen. It is told after the good ones before it. */
	let failure: AiError | undefined;

	const release = (reason: AiError) => {
		over = true;
		deadline.abort(reason);
		reader.cancel(reason).catch(() => {});
	};
	/** Once; then whoever throws it on is passed by. */
	const fail = (error: unknown): never => {
		const told = toAiError(error);
		if (!over) release(told);
		throw told;
	};
	/** The upstream has stopped: what is left to pass on, if that is the end of an answer. */
	const end = (): EventPiece | undefined => {
		const piece = watch.end();
		if (!piece) return undefined;
		over = true;
		deadline.close();
		reader.cancel().catch(() => {});
		return piece;
	};
	/** Gives what the events up to the first that is not good stand for. */
	const take = (chunk: Uint8Array): EventPiece | undefined => {
		const { bytes, ends } = splitter.push(chunk);
		const said: StreamEvent[] = [];
		let good = 0;
		for (const end of ends) {
			failure = watch.see(part(bytes, good, end), failureOfEvent, said);
			if (failure) break;
			good = end;
			if (watch.done) break;
		}
		if (splitter.heldBytes > MAX_EVENT_BYTES) failure ??= failureOfSize(call, "an event", MAX_EVENT_BYTES);
		return watch.pass(part(bytes, 0, good), said);
	};
	/** A last event without its blank line still counts, as every client treats it. */
	const takeRest = (): EventPiece | undefined => {
		const rest = splitter.takeRest();
		if (rest.length === 0 || watch.done) return end() ?? fail(failureOfCut(call));
		const last = concat([rest, BLANK_LINE]);
		const said: StreamEvent[] = [];
		const error = watch.see(last, failureOfCut, said);
		if (error || !watch.sawEvent) return end() ?? fail(error ?? failureOfCut(call));
		return watch.pass(last, said);
	};
	/** What ended the stream between two pulls, or during one. */
	let last: { piece: EventPiece } | { error: AiError } | undefined;
	const takeLast = (): EventPiece | undefined => {
		if (!last) return undefined;
		if ("error" in last) throw last.error;
		const { piece } = last;
		last = undefined;
		return piece;
	};
	const finish = async () => (over || !failure ? takeLast() : fail(failure));
	/** Holds back what is only comments until the stream has begun. */
	const begin = (piece: EventPiece | undefined): EventPiece | undefined => {
		if (begun || !piece) return piece;
		begun = piece.events.some((event) => "data" in event) || piece.bytes.length === 0;
		if (begun) return early ? join(early, piece) : piece;
		const joined = early ? join(early, piece) : piece;
		if (joined.bytes.length <= MAX_EARLY_BYTES) early = joined;
		return undefined;
	};
	const hear = ({ done, value }: ReadableStreamReadResult<Uint8Array>): EventPiece | undefined => {
		if (over) return takeLast();
		deadline.rest();
		try {
			return begin(done ? takeRest() : watch.done ? undefined : take(value));
		} catch (error) {
			// What a reader throws of itself is a failure like any other: nobody would end the fetch.
			return fail(error);
		}
	};
	const onRead = (
		read: ReadableStreamReadResult<Uint8Array>,
	): EventPiece | undefined | Promise<EventPiece | undefined> => hear(read) ?? readOn();
	const onCut = (error: unknown): EventPiece | undefined => {
		if (over) return takeLast();
		deadline.rest();
		return begin(end()) ?? fail(failureOfCut(call, error));
	};
	const read = (): Promise<ReadableStreamReadResult<Uint8Array>> => {
		const limitMs = begun || firstBy === undefined ? idleMs : Math.max(1, firstBy - now());
		deadline.expect(watch.done ? Math.min(idleMs, CLOSE_GRACE_MS) : limitMs);
		return reader.read();
	};
	/**
	 * A read that gives nothing to pass on must be followed by another, or the puller would wait for ever. A loop: reads
	 * that return one another are a chain, which is kept for as long as nothing comes, and settled link by link.
	 */
	const readOn = async (): Promise<EventPiece | undefined> => {
		while (!over && !failure) {
			const piece = await read().then(hear, onCut);
			if (piece) return piece;
		}
		return finish();
	};
	const advance = (): Promise<EventPiece | undefined> =>
		over || failure ? finish() : read().then(onRead, onCut);
	/** Read, but not yet asked for. */
	let first = await deadline.race(advance()).catch(fail);

	const timeOut = () => {
		if (over) return;
		const error: AiError = deadline.signal.reason;
		const piece = error.key === "aborted" ? undefined : end();
		if (!piece) release(error);
		last = piece ? { piece } : { error };
	};
	deadline.signal.addEventListener("abort", timeOut);
	if (deadline.signal.aborted) timeOut();

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
	return { events, progress: watch.progress };
}

const join = (one: EventPiece, other: EventPiece): EventPiece => ({
	bytes: concat([one.bytes, other.bytes]),
	events: [...one.events, ...other.events],
});

export const BLANK_LINE = new TextEncoder().encode("\n\n");
export const failureOfEvent = (call: Call): AiError => failureOfShape(call, "a chat stream");

/** Most reads bring one whole event. */
const part = (bytes: Uint8Array, from: number, to: number): Uint8Array =>
	from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to);
