/**
 * How long a connection is read whose last bytes are written. A connection that is closed with unread bytes is reset, and the caller may lose
 * what it was sent: many clients read the answer when they have sent the body.
 */

/** Without a byte of the caller. */
const SILENT_MS = 1_000;
const MAX_MS = 10_000;
/** The bytes are dropped. */
const MAX_BYTES = 32 * 1024 * 1024;

export class Lingering {
	#since: number;
	#lastByteAt: number;
	#bytes = 0;

	constructor(at: number) {
		this.#since = at;
		this.#lastByteAt = at;
	}

	/** The time begins again with the last byte of the answer, because the caller may read it slowly. The bytes do not. */
	written(at: number): void {
		this.#since = at;
		this.#lastByteAt = at;
	}

	/** Bytes have arrived, and are dropped. Returns whether they are the last ones. */
	drop(bytes: number, at: number): boolean {
		this.#lastByteAt = at;
		this.#bytes += bytes;
		return this.isOver(at);
	}

	isOver(at: number): boolean {
		return this.isBeyond(at) || at - this.#lastByteAt > SILENT_MS;
	}

	/** Also while the caller still waits for the rest of the answer, without sending. */
	isBeyond(at: number): boolean {
		return this.#bytes > MAX_BYTES || at - this.#since > MAX_MS;
	}
}
