/** Cuts the bytes of a stream where its events end, wherever the network cut them. Decodes nothing. */
import { concat } from "../media/bytes.ts";

const LF = 10;
const CR = 13;

interface Line {
	length: number;
	first: number | undefined;
}
const EMPTY_LINE: Line = { length: 0, first: undefined };

const grow = (line: Line, chunk: Uint8Array, from: number, to: number): Line =>
	to === from ? line : { length: line.length + to - from, first: line.first ?? chunk[from] };

/** As most engines write it, and the network passes it on. */
const isOneEvent = (chunk: Uint8Array): boolean =>
	chunk.length > 3 && chunk[chunk.length - 1] === LF && chunk.indexOf(LF) === chunk.length - 2;

const isBlank = ({ length, first }: Line): boolean => length === 0 || (length === 1 && first === CR);

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
	/** Of the line that the held pieces end in. */
	#line = EMPTY_LINE;
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
			const ended = this.#format === "ndjson" || isBlank(grow(this.#line, chunk, lineStart, at));
			if (ended) ends.push(heldBytes + at + 1);
			this.#line = EMPTY_LINE;
			lineStart = at + 1;
		}
		this.#line = grow(this.#line, chunk, lineStart, chunk.length);

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

	#hold(piece: Uint8Array): void {
		if (piece.length === 0) return;
		this.#held.push(piece);
		this.#heldBytes += piece.length;
	}
}
