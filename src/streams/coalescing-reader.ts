/**
 * Reads the body of an upstream's response. Each read enters the isolate, which costs more than anything that is done with
 * a small chunk. So if chunks arrive fast, the reader pauses for a few milliseconds between two reads, and a read returns
 * everything that has arrived meanwhile. A slower stream is read chunk by chunk, at once. A longer pause (`coalesce_ms` of a route) also
 * collects slower streams.
 *
 * The runtime returns at most one chunk of an HTTP body per read. Only a branch of a `tee()` collects chunks, while the other
 * branch is read natively. That costs a slow stream more than it saves, so the stream is teed when it proves to be fast.
 */

/** Most milliseconds that a chunk of a fast stream waits, if no other time is set. */
const PAUSE_MS = 4;
/** A stream with this many reads within this many pauses is fast. The time includes the work for other streams of the isolate. */
const FAST_READS = 8;
const FAST_PAUSES = 12.5;
/** A pause pays off if the read after it returns this many times the bytes of a read without a pause. */
const MIN_GAIN = 1.5;
/** Pauses in succession that did not pay off, after which the stream is no longer fast. */
const MAX_IDLE_PAUSES = 4;
/** The buffer of a read, which the collector frees after the read. Most chunks have a few hundred bytes. */
const MIN_READ_BYTES = 1024;
/** The buffer of a read if more arrives, and the most bytes that are collected ahead of the reader. */
const MAX_READ_BYTES = 16 * 1024;

type ReadResult = ReadableStreamReadResult<Uint8Array>;

export class CoalescingReader {
	readonly #source: ReadableStream<Uint8Array>;
	/** Milliseconds, from any start. */
	readonly #now: () => number;
	readonly #pauseMs: number;
	#bytes: ReadableStreamBYOBReader | undefined;
	/** For a source that is not a byte stream, and has no native branches. */
	readonly #chunks: ReadableStreamDefaultReader<Uint8Array> | undefined;
	#collector: Collector | undefined;
	/** Size of the next read's buffer, if the stream is not fast. */
	#nextBytes = MIN_READ_BYTES;
	/** Start of the current {@link FAST_PAUSES}, and the reads and their bytes since then. */
	#windowAt = Number.NEGATIVE_INFINITY;
	#windowReads = 0;
	#windowBytes = 0;
	/** Bytes of a read for which a pause pays off, while the stream is fast. */
	#minBytes: number | undefined;
	#idlePauses = 0;

	/** Locks the source. */
	constructor(source: ReadableStream<Uint8Array>, now: () => number, pauseMs = PAUSE_MS) {
		this.#source = source;
		this.#now = now;
		this.#pauseMs = pauseMs;
		try {
			this.#bytes = source.getReader({ mode: "byob" });
		} catch {
			this.#chunks = source.getReader();
		}
	}

	/** One read at a time. */
	read(): Promise<ReadResult> {
		if (this.#chunks) return this.#chunks.read();
		if (this.#minBytes !== undefined) this.#collector ??= this.#startCollector();
		// Also without a pause: the other branch must not fall behind, because its chunks are kept in memory.
		this.#collector?.collect();
		if (this.#minBytes === undefined) return this.#readBranch();
		const { promise: paused, resolve } = Promise.withResolvers<void>();
		setTimeout(resolve, this.#pauseMs);
		return paused.then(() => this.#readBranch());
	}

	/** Releases the stream. A response that is still sent must be aborted by its fetch, too. */
	async cancel(reason?: unknown): Promise<void> {
		await Promise.all([(this.#bytes ?? this.#chunks)?.cancel(reason), this.#collector?.cancel(reason)]);
	}

	#readBranch(): Promise<ReadResult> {
		// Every read gets its own buffer, because its bytes are passed on.
		const size = this.#minBytes === undefined ? this.#nextBytes : MAX_READ_BYTES;
		const read = this.#bytes?.read(new Uint8Array(size));
		return read ? read.then(this.#onRead) : Promise.resolve({ done: true, value: undefined });
	}

	readonly #onRead = (read: ReadResult): ReadResult => {
		const length = read.value?.length ?? 0;
		this.#nextBytes = length === this.#nextBytes ? MAX_READ_BYTES : MIN_READ_BYTES;
		if (this.#minBytes === undefined) this.#addToWindow(length);
		else {
			this.#idlePauses = length < this.#minBytes ? this.#idlePauses + 1 : 0;
			if (this.#idlePauses === MAX_IDLE_PAUSES) this.#minBytes = undefined;
		}
		return read;
	};

	#addToWindow(length: number): void {
		const now = this.#now();
		if (now - this.#windowAt >= FAST_PAUSES * this.#pauseMs) {
			this.#windowAt = now;
			this.#windowReads = 0;
			this.#windowBytes = 0;
		}
		this.#windowReads++;
		this.#windowBytes += length;
		if (this.#windowReads < FAST_READS) return;
		this.#idlePauses = 0;
		this.#minBytes = (MIN_GAIN * this.#windowBytes) / this.#windowReads;
		this.#windowAt = Number.NEGATIVE_INFINITY;
	}

	#startCollector(): Collector {
		this.#bytes?.releaseLock();
		const [own, other] = this.#source.tee();
		this.#bytes = own.getReader({ mode: "byob" });
		return new Collector(other);
	}
}

/** Reads a branch of a `tee()` and drops it, so that the other branch collects the same bytes. */
class Collector {
	readonly #reader: ReadableStreamBYOBReader;
	#buffer = new Uint8Array(MAX_READ_BYTES);
	#isReading = false;

	constructor(branch: ReadableStream<Uint8Array>) {
		// A long read of the branch itself would hold back the other branch until it completes. The runtime pipes bodies of HTTP and those
		// that JavaScript writes; for one that is in memory, it rejects, also a promise of its own.
		const { readable, writable } = new IdentityTransformStream();
		branch.pipeTo(writable).catch((error: unknown) => branch.cancel(error).catch(() => {}));
		this.#reader = readable.getReader({ mode: "byob" });
	}

	/** Collects up to {@link MAX_READ_BYTES}. Nothing is collected for a reader that does not read. */
	collect(): void {
		if (this.#isReading) return;
		this.#isReading = true;
		this.#reader.readAtLeast(MAX_READ_BYTES, this.#buffer).then(
			({ done, value }) => {
				if (done || !value) return;
				this.#buffer = new Uint8Array(value.buffer);
				this.#isReading = false;
			},
			() => {},
		);
	}

	cancel(reason?: unknown): Promise<void> {
		return this.#reader.cancel(reason);
	}
}
