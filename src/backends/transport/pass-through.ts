/**
 * Passes an upstream's stream of OpenAI chunks to the caller unchanged: the runtime moves the bytes, and no JavaScript
 * runs per chunk. A second branch of the stream is read about once a second, all buffered events at once. It feeds the
 * meter and detects the end and a silent upstream. docs/routing.md, "Passthrough".
 *
 * The first event is checked before anything is sent. Later events reach the caller before they are checked: an
 * incomplete or malformed one cannot be withheld.
 *
 * Observed of workerd: a read of either branch pulls for both. So the observer waits only for the upstream, whether the
 * caller reads or not. For a caller who does not read, each read of the observer adds up to its size to memory.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import { concat } from "../../media/bytes.ts";
import { EventSplitter } from "../../streams/event-splitter.ts";
import type { Progress, StreamEndFormatter } from "../../tasks/task.ts";
import {
	BLANK_LINE,
	CLOSE_GRACE_MS,
	type EventReader,
	type FailureOfCall,
	failureOfEvent,
	failureOfLastEvent,
	MAX_EVENT_BYTES,
	type ReadLimit,
	type RelayedStream,
	readLimits,
	type UpstreamStream,
} from "./relay.ts";
import { failureOfInterruption, failureOfShape, failureOfSize } from "./upstream-failure.ts";

/**
 * The pause between two reads of the second branch. A read costs two entries into the isolate, so the pause doubles up to
 * the maximum. It is short for an engine that sends fast: what arrives during a pause waits in memory.
 */
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 1000;
/** The usual size of a read. Each open stream keeps a buffer of this size for its pending read. */
const SHORT_READ_BYTES = 4 * 1024;
/** The size of a read if more is buffered: some hundred events. */
const LONG_READ_BYTES = 64 * 1024;
/**
 * Most bytes of comments before the first event. The branch to the caller keeps them until the stream begins, and the
 * runtime cannot drop them: an engine that sends more has failed.
 */
const MAX_EARLY_BYTES = 1024 * 1024;
const NO_BYTES = new Uint8Array();

/** Takes over the stream. Resolves with the first valid event; a failure before it rejects. */
export async function passThrough(
	stream: UpstreamStream,
	eventReader: EventReader,
	streamEnd: StreamEndFormatter,
): Promise<RelayedStream> {
	const { source, deadline } = stream;
	const [toCaller, toObserver] = source.tee();
	const startObserver = async () => {
		const observer = new StreamObserver({ ...stream, source: toObserver }, eventReader);
		await observer.waitForFirstEvent();
		return observer;
	};
	const observer = await deadline.race(startObserver()).catch((error: unknown) => {
		const failure = toAiError(error);
		deadline.abort(failure);
		toCaller.cancel(failure).catch(() => {});
		throw failure;
	});
	const { readable, writable } = new IdentityTransformStream();
	const piped = toCaller.pipeTo(writable, { preventClose: true, preventAbort: true });
	const ended = observePipe(piped, observer, stream)
		.then((ending) => close(writable, ending, { streamEnd, progress: eventReader.progress }))
		// `ended` never rejects: the request is billed when it resolves.
		.catch(toAiError);
	return { events: readable, progress: eventReader.progress, ended };
}

/** The bytes to write after the upstream's last byte. */
interface Ending {
	bytes: Uint8Array;
	failure?: AiError;
	/** The upstream's own error event has already reached the caller. */
	isDisclosed?: true;
}

/** `isBroken`: the pipe broke, because either the upstream or the caller is gone. */
type PipeEnding = Ending & { isBroken: boolean };

async function observePipe(
	piped: Promise<void>,
	observer: StreamObserver,
	{ deadline }: UpstreamStream,
): Promise<PipeEnding> {
	let isBroken = false;
	const stopped = piped.catch(() => {
		isBroken = !deadline.signal.aborted;
		// If the caller is gone, the upstream would continue to feed the other branch.
		deadline.abort(new AiError("aborted"));
	});
	await observer.observeUntil(stopped);
	deadline.close();
	// A slow caller may still receive buffered bytes; the upstream has ended.
	await stopped;
	const { aborted, reason } = deadline.signal;
	return { ...observer.end(aborted && !isBroken ? reason : undefined), isBroken };
}

/** Writes the end of the stream. Returns the failure that interrupted it, if any. */
async function close(
	writable: WritableStream<Uint8Array>,
	{ bytes, failure, isDisclosed, isBroken }: PipeEnding,
	{ streamEnd, progress }: { streamEnd: StreamEndFormatter; progress: Progress },
): Promise<AiError | undefined> {
	const writer = writable.getWriter();
	const errorEvent = failure && !isDisclosed ? streamEnd.onFailure(failure) : "";
	const end = failure ? errorEvent : (streamEnd.onComplete?.(progress) ?? "");
	const lastBytes = concat([bytes, new TextEncoder().encode(end)]);
	const isDelivered = Promise.all([lastBytes.length > 0 && writer.write(lastBytes), writer.close()]).then(
		() => true,
		() => false,
	);
	// A write that fails shows that the caller is gone; otherwise the upstream is.
	return !isBroken || (await isDelivered) ? failure : new AiError("aborted");
}

/** Reads the second branch of the stream. */
class StreamObserver {
	readonly #stream: UpstreamStream;
	readonly #reader: ReadableStreamBYOBReader;
	readonly #eventReader: EventReader;
	readonly #splitter: EventSplitter;
	readonly #readLimit: (hasBegun: boolean) => ReadLimit;
	#hasBegun = false;
	#earlyBytes = 0;
	#mayHaveMore = false;
	/** The source has ended; `error`: because the connection broke. */
	#over: { error?: unknown } | undefined;
	/** The failure of an event. */
	#failure: AiError | undefined;
	/** `#failure` is the upstream's own error event. */
	#isDisclosed = false;
	#ending: Ending | undefined;

	constructor(stream: UpstreamStream, eventReader: EventReader) {
		this.#stream = stream;
		this.#reader = stream.source.getReader({ mode: "byob" });
		this.#eventReader = eventReader;
		this.#splitter = new EventSplitter(eventReader.format);
		this.#readLimit = readLimits(stream);
	}

	/** Resolves when the first event is valid; rejects with the failure if there is none. */
	async waitForFirstEvent(): Promise<void> {
		while (!this.#hasBegun && !this.#failure && !this.#over)
			await this.#readNext(SHORT_READ_BYTES, ...this.#readLimit(false));
		const failure = this.#hasBegun ? undefined : this.end().failure;
		if (failure) throw failure;
	}

	/** Resolves when the upstream has ended and all its events have been read. `stopped`: the pipe to the caller has ended. */
	async observeUntil(stopped: Promise<void>): Promise<void> {
		let isPiping = true;
		let wake = () => {};
		void stopped.then(() => {
			isPiping = false;
			wake();
		});
		const pause = (ms: number): Promise<void> =>
			new Promise((resolve) => {
				const timer = setTimeout(resolve, ms);
				wake = () => {
					clearTimeout(timer);
					resolve();
				};
			});
		const { call, deadline } = this.#stream;
		const { idleMs } = call.target.timeouts;
		const maxPauseMs = Math.min(MAX_PAUSE_MS, idleMs / 4);
		let pauseMs = Math.min(MIN_PAUSE_MS, maxPauseMs);
		while (!this.#over) {
			if (this.#failure && !this.#isDisclosed) deadline.abort(this.#failure);
			const isEnd = this.#eventReader.done || this.#isDisclosed;
			const pauses = isPiping && !this.#mayHaveMore && !isEnd;
			if (pauses) await pause(pauseMs);
			const limitMs = isEnd ? Math.min(idleMs, CLOSE_GRACE_MS) : idleMs;
			const size = isPiping && !this.#mayHaveMore ? SHORT_READ_BYTES : LONG_READ_BYTES;
			// If nothing has arrived during the pause, the pause is part of the silence.
			await this.#readNext(size, limitMs, pauses ? pauseMs : 0);
			const isFast = this.#mayHaveMore && size === LONG_READ_BYTES;
			pauseMs = Math.min(isFast ? MIN_PAUSE_MS : pauses ? 2 * pauseMs : pauseMs, maxPauseMs);
		}
	}

	/** Called when the upstream has ended. `reason`: why the gateway aborted it, if it did. */
	end(reason?: AiError): Ending {
		this.#ending ??= this.#conclude(reason);
		return this.#ending;
	}

	#conclude(reason: AiError | undefined): Ending {
		const remainder = this.#splitter.takeRemainder();
		// An incomplete event, or a last one without its blank line. The latter counts: all clients accept it.
		const isOpen = remainder.length > 0 && !this.#eventReader.done;
		const bytes = isOpen ? BLANK_LINE : NO_BYTES;
		const interruption =
			isOpen && !this.#failure
				? this.#readEvent(concat([remainder, BLANK_LINE]), failureOfLastEvent)
				: undefined;
		const failure = this.#failure ?? (this.#isDisclosed ? interruption : undefined);
		if (failure) return { bytes, failure, ...(this.#isDisclosed && { isDisclosed: true }) };
		if (reason?.key === "aborted") return { bytes, failure: reason };
		const output = this.#eventReader.end();
		if (output) return { bytes: concat([bytes, output.bytes]) };
		return {
			bytes,
			failure: reason ?? interruption ?? failureOfInterruption(this.#stream.call, this.#over?.error),
		};
	}

	/** Waits for bytes, and reads all events in them. */
	async #readNext(size: number, limitMs: number, silentMs = 0): Promise<void> {
		const { deadline } = this.#stream;
		deadline.expect(limitMs, silentMs);
		const read = await this.#reader.read(new Uint8Array(size)).catch((error: unknown) => {
			this.#over = { error };
		});
		deadline.pause();
		this.#mayHaveMore = read?.value?.length === size;
		if (read?.done) this.#over = {};
		else if (read) this.#readChunk(read.value);
	}

	/** An exception of the event reader is a failure of the stream: otherwise the caller would wait for its end. */
	#readChunk(chunk: Uint8Array): void {
		if (this.#failure || this.#eventReader.done) return;
		try {
			this.#readEvents(chunk);
		} catch (error) {
			this.#failure = toAiError(error);
		}
	}

	#readEvents(chunk: Uint8Array): void {
		const { call } = this.#stream;
		const { bytes, ends } = this.#splitter.push(chunk);
		if (ends.length > 1 && this.#eventReader.readTogether?.(bytes, ends.length)) this.#hasBegun = true;
		else this.#readSeparately(bytes, ends);
		if (!this.#hasBegun && this.#earlyBytes > MAX_EARLY_BYTES)
			this.#failure ??= failureOfShape(call, "a chat stream: it sent comments alone");
		if (this.#splitter.heldBytes > MAX_EVENT_BYTES)
			this.#failure ??= failureOfSize(call, "an event", MAX_EVENT_BYTES);
	}

	/** Reads the events up to the first invalid one, or to the end of the answer. */
	#readSeparately(bytes: Uint8Array, ends: readonly number[]): void {
		let from = 0;
		for (const end of ends) {
			this.#failure = this.#readEvent(bytes.subarray(from, end), failureOfEvent);
			if (this.#failure) return;
			// A comment does not begin the stream.
			this.#hasBegun ||= this.#eventReader.lastWasEvent;
			if (!this.#hasBegun) this.#earlyBytes += end - from;
			from = end;
			if (this.#eventReader.done) return;
		}
	}

	#readEvent(event: Uint8Array, ifMalformed: FailureOfCall): AiError | undefined {
		let malformed: AiError | undefined;
		const markMalformed: FailureOfCall = (call, received) => {
			malformed = ifMalformed(call, received);
			return malformed;
		};
		// The parsed events are not needed: the caller has the bytes.
		const failure = this.#eventReader.read(event, markMalformed, []);
		this.#isDisclosed = failure !== malformed;
		return failure;
	}
}
