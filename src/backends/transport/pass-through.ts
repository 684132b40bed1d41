/**
 * Passes an upstream's stream of OpenAI chunks to the caller unchanged: the runtime moves the bytes, and no JavaScript
 * runs per chunk. A second branch of the stream is read about once a second, all buffered events at once. It feeds the
 * meter and detects the end and a silent upstream. docs/routing.md, "Passthrough".
 *
 * The first event is checked before anything is sent. A stream whose first event must be changed does not pass: it is rewritten. Later
 * events reach the caller before they are checked: an incomplete or malformed one cannot be withheld.
 *
 * Observed of workerd: a read of either branch pulls for both. So the observer waits only for the upstream, whether the
 * caller reads or not. For a caller who does not read, each read of the observer adds up to its size to memory.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import { concat } from "../../media/bytes.ts";
import type { Progress, StreamEndFormatter } from "../../tasks/task.ts";
import {
	BLANK_LINE,
	type EventReader,
	EventScanner,
	type RelayedStream,
	type UpstreamStream,
} from "./event-scanner.ts";
import { failureOfShape } from "./upstream-failure.ts";

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

/**
 * Takes over the stream. Resolves with the first valid event; a failure before it rejects. `rewrite`: takes over the stream, from its first
 * byte, if it cannot pass.
 */
export async function passThrough(
	stream: UpstreamStream,
	eventReader: EventReader,
	streamEnd: StreamEndFormatter,
	rewrite: (stream: UpstreamStream) => Promise<RelayedStream>,
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
	if (streamEnd.acceptsFaults ? eventReader.isOdd : eventReader.progress.isRepaired) {
		observer.leave();
		return rewrite({ ...stream, source: toCaller });
	}
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
	failure?: AiError | undefined;
	/** The upstream's own error event has already reached the caller. */
	isDisclosed: boolean;
	/** The pipe broke, because either the upstream or the caller is gone. */
	isBroken: boolean;
}

async function observePipe(
	piped: Promise<void>,
	observer: StreamObserver,
	{ deadline }: UpstreamStream,
): Promise<Ending> {
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
	{ bytes, failure, isDisclosed, isBroken }: Ending,
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
	readonly #scanner: EventScanner;
	#mayHaveMore = false;
	/** The source has ended; `error`: because the connection broke. */
	#over: { error?: unknown } | undefined;

	constructor(stream: UpstreamStream, eventReader: EventReader) {
		this.#stream = stream;
		this.#reader = stream.source.getReader({ mode: "byob" });
		this.#scanner = new EventScanner(stream, eventReader, true);
	}

	/** Resolves when the first event is valid; rejects with the failure if there is none. */
	async waitForFirstEvent(): Promise<void> {
		const scanner = this.#scanner;
		while (!scanner.hasBegun && !scanner.failure && !this.#over) {
			await this.#readNext(SHORT_READ_BYTES);
			if (!scanner.hasBegun && scanner.earlyBytes > MAX_EARLY_BYTES)
				scanner.failure ??= failureOfShape(this.#stream.call, "a chat stream: it sent comments alone");
		}
		const failure = scanner.hasBegun ? undefined : this.end().failure;
		if (failure) throw failure;
	}

	/** The other branch gets the bytes alone. */
	leave(): void {
		this.#reader.cancel().catch(() => {});
	}

	/** Resolves when the upstream has ended and all its events have been read. `stopped`: the pipe to the caller has ended. */
	async observeUntil(stopped: Promise<void>): Promise<void> {
		let isPiping = true;
		let wake = () => {};
		void stopped.then(() => {
			isPiping = false;
			wake();
		});
		const pause = (ms: number): Promise<void> => {
			const { promise, resolve } = Promise.withResolvers<void>();
			const timer = setTimeout(resolve, ms);
			wake = () => {
				clearTimeout(timer);
				resolve();
			};
			return promise;
		};
		const { call, deadline } = this.#stream;
		const scanner = this.#scanner;
		const maxPauseMs = Math.min(MAX_PAUSE_MS, call.target.timeouts.idleMs / 4);
		let pauseMs = Math.min(MIN_PAUSE_MS, maxPauseMs);
		while (!this.#over) {
			if (scanner.failure && !scanner.isSentError) deadline.abort(scanner.failure);
			const pauses = isPiping && !this.#mayHaveMore && !scanner.isOver;
			if (pauses) await pause(pauseMs);
			const size = isPiping && !this.#mayHaveMore ? SHORT_READ_BYTES : LONG_READ_BYTES;
			// If nothing has arrived during the pause, the pause is part of the silence.
			await this.#readNext(size, pauses ? pauseMs : 0);
			const isFast = this.#mayHaveMore && size === LONG_READ_BYTES;
			pauseMs = Math.min(isFast ? MIN_PAUSE_MS : pauses ? 2 * pauseMs : pauseMs, maxPauseMs);
		}
	}

	/** Called when the upstream has ended. `reason`: why the gateway aborted it, if it did. */
	end(reason?: AiError): Omit<Ending, "isBroken"> {
		const { isOpen, output, failure } = this.#scanner.end({
			...(reason && { reason }),
			error: this.#over?.error,
		});
		const bytes = concat([isOpen ? BLANK_LINE : NO_BYTES, output?.bytes ?? NO_BYTES]);
		return { bytes, failure, isDisclosed: this.#scanner.isSentError };
	}

	/** Waits for bytes, and reads all events in them. */
	async #readNext(size: number, silentMs?: number): Promise<void> {
		this.#scanner.expectRead(silentMs);
		const read = await this.#reader.read(new Uint8Array(size)).catch((error: unknown) => {
			this.#over = { error };
		});
		this.#stream.deadline.pause();
		this.#mayHaveMore = read?.value?.length === size;
		if (read?.done) this.#over = {};
		else if (read) this.#scanner.push(read.value);
	}
}
