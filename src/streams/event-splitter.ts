/** Cuts the bytes of a stream where its events end, wherever the network cut them. Decodes nothing. */
import { concat } from "../media/bytes.ts";

const LF = 10;
const CR = 13;

/** As most engines write it, and the network passes it on. */
const isOneEvent = (chunk: Uint8Array): boolean =>
	chunk.length > 3 && chunk[chunk.length - 1] === LF && chunk.indexOf(LF) === chunk.length - 2;

/** What ends an event: a blank line (server-sent events), or any line (JSON lines). */
export type EventFormat = "sse" | "ndjson";

export interface WholeEvents {
	bytes: Uint8Array;
	/** Where in `bytes` each event ends, behind the line that ends it; the last is the end of `bytes`. */
	ends: number[];
}

export class EventSplitter {
	/** Pieces of the event that has not ended, in order; views of the chunks that they came in. */
	#held: Uint8Array[] = [];
	/** Of the line that the held pieces end in: its bytes so far, and the first of them. */
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

	/** What `chunk` completes. */
	push(chunk: Uint8Array): WholeEvents {
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

	/** What is left of an event that never ended. It is held no longer. */
	takeRest(): Uint8Array {
		const rest = concat(this.#held);
		this.#held = [];
		this.#heldBytes = 0;
		return rest;
	}

	/** Of the line that ends at `end`. */
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
