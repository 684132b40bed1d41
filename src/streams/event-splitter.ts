/** Splits the bytes of a stream at the ends of its events. Chunks may end anywhere. Nothing is decoded. */
import { parseJson } from "../core/json.ts";
import { concat } from "../media/bytes.ts";

const LF = 10;
const CR = 13;
const SMALL_D = 100;
/** Each byte is one character, so that places in the text are places in the bytes. JSON stays JSON. */
const BYTES = new TextDecoder("latin1");
/** A line of data that begins a JSON document, or that ends the stream. */
const NEXT_DATA = /^data: ?[{[]/;

/** Whether the chunk is exactly one event of one line, the most frequent case. */
const isOneEvent = (chunk: Uint8Array): boolean =>
	chunk.length > 3 && chunk[chunk.length - 1] === LF && chunk.indexOf(LF) === chunk.length - 2;

/**
 * `sse`: a blank line ends an event (server-sent events). Some hosts have one line break between their events: with `parted`, a line of
 * data that begins a JSON document ends the event before, if its own document is complete. `ndjson`: each line is an event.
 */
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
	readonly #isParted: boolean;
	/** Complete lines of data of the incomplete event. */
	#dataLines = 0;

	constructor(format: EventFormat = "sse", parted: "parted" | "blank lines" = "blank lines") {
		this.#format = format;
		this.#isParted = format === "sse" && parted === "parted";
	}

	/** Of the incomplete event. */
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
			if (this.#format === "ndjson" || this.#isBlank(chunk, lineStart, at)) {
				ends.push(heldBytes + at + 1);
				this.#dataLines = 0;
			} else if (this.#isParted && this.#firstOf(chunk, lineStart) === SMALL_D && ++this.#dataLines > 1) {
				const end = this.#endBefore(chunk, at, ends.at(-1) ?? 0);
				if (end !== undefined) ends.push(end);
			}
			this.#lineBytes = 0;
			lineStart = at + 1;
		}
		if (this.#lineBytes === 0) this.#lineFirst = chunk[lineStart];
		this.#lineBytes += chunk.length - lineStart;

		const end = (ends.at(-1) ?? 0) - heldBytes;
		if (ends.length === 0) {
			this.#hold(chunk);
			return { bytes: new Uint8Array(), ends };
		}
		// The event before a line of data may have arrived before this chunk.
		if (end <= 0) return this.#split(concat([...this.#held, chunk]), ends);
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

	#split(bytes: Uint8Array, ends: number[]): CompleteEvents {
		const end = ends.at(-1) ?? 0;
		this.#held = [];
		this.#heldBytes = 0;
		this.#hold(bytes.subarray(end));
		return { bytes: bytes.subarray(0, end), ends };
	}

	/** The first byte of the line that goes on at `start`. */
	#firstOf(chunk: Uint8Array, start: number): number | undefined {
		return this.#lineBytes > 0 ? this.#lineFirst : chunk[start];
	}

	/** Whether the line that ends at `end` is blank. */
	#isBlank(chunk: Uint8Array, start: number, end: number): boolean {
		const length = this.#lineBytes + end - start;
		return length === 0 || (length === 1 && this.#firstOf(chunk, start) === CR);
	}

	/**
	 * The end of the event before the line of data that ends at `at`, if this line begins another one. `start`: where the incomplete event
	 * starts in the held bytes and the chunk. The fields between both lines of data belong to the later one.
	 */
	#endBefore(chunk: Uint8Array, at: number, start: number): number | undefined {
		// A document over several lines: the rest of the event is not looked at, so that no byte is read twice.
		if (this.#dataLines > 2) return undefined;
		const isHere = start >= this.#heldBytes;
		const bytes = isHere
			? chunk.subarray(start - this.#heldBytes, at)
			: concat([...this.#held, chunk.subarray(0, at)]).subarray(start);
		const lines = BYTES.decode(bytes).split("\n");
		const first = lines.findIndex((line) => line.startsWith("data:"));
		const document = parseJson(lines[first]?.slice("data:".length) ?? "");
		if (typeof document !== "object" || !NEXT_DATA.test(lines.at(-1) ?? "")) return undefined;
		this.#dataLines = 1;
		return start + lines.slice(0, first + 1).join("\n").length + 1;
	}

	#hold(piece: Uint8Array): void {
		if (piece.length === 0) return;
		this.#held.push(piece);
		this.#heldBytes += piece.length;
	}
}
