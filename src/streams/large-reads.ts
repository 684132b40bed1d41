/**
 * Reads a body that may be large. Each read enters the isolate, which costs more than the copy of many kilobytes, and the runtime returns a few
 * kilobytes for each read by default. So the buffer grows while reads fill it. A read returns what has arrived, and never waits for more.
 */
import type { Source } from "./pulled-stream.ts";

const MIN_READ_BYTES = 4 * 1024;
const MAX_READ_BYTES = 256 * 1024;

export class LargeReads implements Source<Uint8Array> {
	readonly #bytes: ReadableStreamBYOBReader | undefined;
	/** For a source that is not a byte stream. */
	readonly #chunks: ReadableStreamDefaultReader<Uint8Array> | undefined;
	readonly #maxBytes: number;
	readonly #isReused: boolean;
	#nextBytes = MIN_READ_BYTES;
	/** Of the last read, for the next one. */
	#buffer: ArrayBuffer | undefined;

	/** Locks the source. `maxBytes`: of a read. `isReused`: the next read replaces the bytes of a piece. */
	constructor(source: ReadableStream<Uint8Array>, maxBytes = MAX_READ_BYTES, isReused = false) {
		this.#maxBytes = maxBytes;
		this.#isReused = isReused;
		try {
			this.#bytes = source.getReader({ mode: "byob" });
		} catch {
			this.#chunks = source.getReader();
		}
	}

	/** `undefined` at the end. One read at a time. */
	async pull(): Promise<Uint8Array | undefined> {
		if (!this.#bytes) return (await this.#chunks?.read())?.value;
		const size = this.#nextBytes;
		const buffer = this.#buffer?.byteLength === size ? this.#buffer : new ArrayBuffer(size);
		const { done, value } = await this.#bytes.read(new Uint8Array(buffer));
		if (done || !value) return undefined;
		const isFull = value.length === size;
		if (this.#isReused) {
			this.#buffer = value.buffer;
			if (isFull) this.#nextBytes = Math.min(this.#maxBytes, 4 * size);
			return value;
		}
		this.#nextBytes = isFull ? Math.min(this.#maxBytes, 4 * size) : Math.max(MIN_READ_BYTES, size / 4);
		// A small piece must not keep its large buffer in memory.
		return isFull ? value : value.slice();
	}

	async cancel(reason?: unknown): Promise<void> {
		await (this.#bytes ?? this.#chunks)?.cancel(reason);
	}
}
