/**
 * Reads a stream to its end, whether or not its caller still reads it, and copies its events to a run. The stream is read at the pace of
 * its source. If it is larger than a run may be, or the process buffers too much for its caller, the run is discarded: a caller who
 * disconnects then cancels the stream.
 */
import { AiError } from "../../core/errors.ts";
import type { BufferHold } from "../../core/process-counts.ts";
import { concat } from "../../media/bytes.ts";
import { EventSplitter } from "../../streams/event-splitter.ts";
import { PulledStream, type Source } from "../../streams/pulled-stream.ts";

interface RunWriter {
	append(content: Uint8Array, events: number): Promise<void>;
	finish(state: "ended" | "failed"): Promise<void>;
	discard(): Promise<void>;
}

interface Detached {
	/** For the caller. Cancelling it does not cancel the source. */
	body: ReadableStream<Uint8Array>;
	/** Resolves when the source has ended. The run may not have all events yet. */
	ended: Promise<void>;
	/** Resolves when the run has all events, too. */
	done: Promise<void>;
}

interface DetachOptions {
	run: RunWriter;
	/** Of all events. */
	maxBytes: number;
	/** For the bytes that the caller has not read. */
	hold: BufferHold;
	/** Fires when the caller disconnects. The runtime may drop the body without cancelling it. */
	caller: AbortSignal;
	/** Resolves after the time; rejects if the signal fires first. */
	wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

/** Milliseconds between two calls of a run. Each call is a write of its object, which costs more than the events. */
const GATHER_MS = 50;
/** Runs that are written at this pace. The disk is shared with all other requests, so more runs are written less often. */
const RUNS_AT_FULL_PACE = 8;
/** Runs of this isolate that are written. */
let openRuns = 0;

const gatherMs = (): number => GATHER_MS * Math.max(1, openRuns / RUNS_AT_FULL_PACE);

/** Takes over `stream`. */
export function detached(
	stream: ReadableStream<Uint8Array>,
	{ run, maxBytes, hold, caller: signal, wait }: DetachOptions,
): Detached {
	const caller = new CallerQueue(hold);
	const leave = (): void => caller.leave();
	if (signal.aborted) leave();
	signal.addEventListener("abort", leave, { once: true });
	const source = PulledStream.sourceOf(stream);
	const { promise: ended, resolve: end } = Promise.withResolvers<void>();
	openRuns++;
	const done = pump(source, caller, { copy: new RunCopy(run, maxBytes, wait), end }).finally(
		() => openRuns--,
	);
	// The caller may use the signal for many requests.
	const forget = (): void => signal.removeEventListener("abort", leave);
	return { body: new PulledStream(caller), ended, done: done.finally(forget) };
}

async function pump(
	source: Source<Uint8Array>,
	caller: CallerQueue,
	{ copy, end }: { copy: RunCopy; end(): void },
): Promise<void> {
	try {
		for (let piece = await source.pull(); piece; piece = await source.pull()) {
			if (!caller.push(piece)) copy.discard();
			copy.push(piece);
			if (!copy.isDiscarded) continue;
			// Nothing can resume the stream, so it is useful only to its caller.
			await caller.drained();
			if (!caller.isGone) continue;
			await source.cancel(new DOMException("The caller disconnected", "AbortError"));
			end();
			return;
		}
		caller.end();
		end();
		await copy.finish("ended");
	} catch (error) {
		caller.fail(error);
		end();
		await copy.finish("failed");
	}
}

/** The pieces that the caller has not read yet. */
class CallerQueue implements Source<Uint8Array> {
	readonly #hold: BufferHold;
	#pieces: Uint8Array[] = [];
	#end: { error?: unknown } | undefined;
	#pulled: PromiseWithResolvers<Uint8Array | undefined> | undefined;
	#drained: PromiseWithResolvers<void> | undefined;
	isGone = false;

	constructor(hold: BufferHold) {
		this.#hold = hold;
	}

	/** Returns whether further pieces may follow before the caller has read this one. */
	push(piece: Uint8Array): boolean {
		if (this.isGone) return true;
		const pulled = this.#pulled;
		this.#pulled = undefined;
		if (pulled) {
			pulled.resolve(piece);
			return true;
		}
		this.#pieces.push(piece);
		return this.#hold.tryGrow(piece.length);
	}

	end(): void {
		this.#end ??= {};
		this.#pulled?.resolve(undefined);
	}

	fail(error: unknown): void {
		this.#end ??= { error };
		this.#pulled?.reject(error);
	}

	/** Resolves when the caller waits for a piece, or is gone. */
	async drained(): Promise<void> {
		if (this.isGone || this.#pulled) return;
		this.#drained ??= Promise.withResolvers();
		await this.#drained.promise;
	}

	pull(): Promise<Uint8Array | undefined> {
		const piece = this.#pieces.shift();
		if (this.#pieces.length === 0) this.#hold.release();
		if (piece) return Promise.resolve(piece);
		if (this.#end) return "error" in this.#end ? Promise.reject(this.#end.error) : Promise.resolve(undefined);
		this.#pulled = Promise.withResolvers();
		this.#signalDrained();
		return this.#pulled.promise;
	}

	/** The caller's signal fires. The body may still be read, so its reads reject. */
	leave(): void {
		const error = new AiError("aborted");
		this.#end = { error };
		this.#pulled?.reject(error);
		void this.cancel();
	}

	async cancel(): Promise<void> {
		this.isGone = true;
		this.#pieces = [];
		this.#hold.release();
		this.#signalDrained();
	}

	#signalDrained(): void {
		this.#drained?.resolve();
		this.#drained = undefined;
	}
}

/**
 * Sends the events to the run, one call at a time. Events that arrive during a call, and within {@link gatherMs} after it, are in the
 * next one.
 */
class RunCopy {
	readonly #run: RunWriter;
	readonly #maxBytes: number;
	readonly #wait: DetachOptions["wait"];
	/** Ends the wait between two calls. */
	readonly #finishing = new AbortController();
	readonly #splitter = new EventSplitter();
	#bytes = 0;
	#unsent: Uint8Array[] = [];
	#unsentEvents = 0;
	#sending: Promise<void> | undefined;
	isDiscarded = false;

	constructor(run: RunWriter, maxBytes: number, wait: DetachOptions["wait"]) {
		this.#run = run;
		this.#maxBytes = maxBytes;
		this.#wait = wait;
	}

	push(piece: Uint8Array): void {
		if (this.isDiscarded) return;
		this.#bytes += piece.length;
		if (this.#bytes > this.#maxBytes) {
			this.discard();
			return;
		}
		// The reader of the piece may transfer its buffer.
		const { bytes, ends } = this.#splitter.push(piece.slice());
		if (ends.length === 0) return;
		this.#unsent.push(bytes);
		this.#unsentEvents += ends.length;
		this.#sending ??= this.#send();
	}

	/** Resolves when the run has all events. Never rejects. */
	async finish(state: "ended" | "failed"): Promise<void> {
		this.#finishing.abort();
		await this.#sending;
		if (this.isDiscarded) return;
		const remainder = this.#splitter.takeRemainder();
		try {
			if (remainder.length > 0) await this.#run.append(remainder, 0);
			await this.#run.finish(state);
		} catch {
			this.discard();
		}
	}

	async #send(): Promise<void> {
		try {
			while (this.#unsent.length > 0 && !this.isDiscarded) {
				const content = concat(this.#unsent);
				const events = this.#unsentEvents;
				this.#unsent = [];
				this.#unsentEvents = 0;
				await this.#run.append(content, events);
				await this.#wait(gatherMs(), this.#finishing.signal).catch(() => {});
			}
		} catch {
			this.discard();
		}
		this.#sending = undefined;
	}

	/** An incomplete run must not be resumed. May be called again. */
	discard(): void {
		if (this.isDiscarded) return;
		this.isDiscarded = true;
		this.#unsent = [];
		void this.#run.discard().catch(() => {});
	}
}
