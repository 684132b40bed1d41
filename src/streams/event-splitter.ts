/** Splits the bytes of a stream at the ends of its events. Chunks may end anywhere. Nothing is decoded. */
import { concat } from "../media/bytes.ts";

const LF = 10;
const CR = 13;

/** Whether the chunk is exactly one event of one line, the most frequent case. */
const isOneEvent = (chunk: Uint8Array): boolean =>
	chunk.length > 3 && chunk[chunk.length - 1] === LF && chunk.indexOf(LF) === chunk.length - 2;

/** `sse`: a blank line ends an event (server-sent events). `ndjson`: each line is an event. */
export type EventFormat = "sse" | "ndjson";

interface CompleteEvents {
	bytes: Uint8Array;
	/** The end offset of each event in `bytes`, its terminating line included. The last one is the length of `bytes`. */
	ends: number[];
}

export class EventSplitter {
	/** Pieces of the incomplete event, in order. They are views of the received chunks. */
	#held: Uint8Array[] = [];
	/** The incomplete last line of the held pieces: its length and its first byte. */
	#lineBytes = 0;
	#lineFirst: number | undefined;
	#heldBytes = 0;
	readonly #format: EventFormat;

	constructor(format: EventFormat = "sse") {
		this.#format = format;
	}

	get heldBytes(): number {
		return this.#heldBytes;
	}

	/** Returns the events that `chunk` completes. */
	push(chunk: Uint8Array): CompleteEvents {
		const heldBytes = this.#heldBytes;
		if (heldBytes === 0 && this.#format === "sse" && isOneEvent(chunk))
			return { bytes: chunk, ends: [chunk.length] };
		const ends: number[] = [];
		let lineStart = 0;
		for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, lineStart)) {
			if (this.#format === "ndjson" || this.#isBlank(chunk, lineStart, at)) ends.push(heldBytes + at + 1);
			this.#lineBytes = 0;
			lineStart = at + 1;
		}
		if (this.#lineBytes === 0) this.#lineFirst = chunk[lineStart];
		this.#lineBytes += chunk.length - lineStart;

		const end = (ends.at(-1) ?? heldBytes) - heldBytes;
		if (end === 0) {
			this.#hold(chunk);
			return { bytes: new Uint8Array(), ends };
		}
		const head = chunk.subarray(0, end);
		const bytes = heldBytes === 0 ? head : concat([...this.#held, head]);
		this.#held = [];
		this.#heldBytes = 0;
		this.#hold(chunk.subarray(end));
		return { bytes, ends };
	}

	/** Returns and releases the bytes of the incomplete event. */
	takeRemainder(): Uint8Array {
		const remainder = concat(this.#held);
		this.#held = [];
		this.#heldBytes = 0;
		return remainder;
	}

	/** Whether the line that ends at `end` is blank. */
	#isBlank(chunk: Uint8Array, start: number, end: number): boolean {
		const length = this.#lineBytes + end - start;
		return length === 0 || (length === 1 && (this.#lineBytes === 1 ? this.#lineFirst : chunk[start]) === CR);
	}

	#hold(piece: Uint8Array): void {
		if (piece.length === 0) return;
		this.#held.push(piece);
		this.#heldBytes += piece.length;
	}
}
