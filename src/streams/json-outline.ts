/**
 * Reads the outlines of JSON objects in bytes that arrive in pieces: all fields, but arrays without their items, and long texts as empty
 * ones. So a small field of an answer can be read in bounded memory, however large the answer is.
 *
 * The objects follow one another, or are the items of an outermost array. Other bytes between them are ignored.
 */
import { isRecord, parseJson } from "../core/json.ts";

/** Bytes of a text. A longer one is empty. */
const MAX_TEXT = 256;
/** Bytes of an outline. A larger one is dropped. */
const MAX_OUTLINE = 64 * 1024;
const FIRST_BUFFER = 1024;
/** Bytes after which a search is faster than the loop. */
const LONG_RUN = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** The bytes with a meaning in a text, and outside of texts. */
const TEXT_MARKS = [QUOTE, BACKSLASH] as const;
const MARKS = [QUOTE, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] as const;

export class JsonOutlines {
	readonly #found: (outline: Record<string, unknown>) => void;
	/** The outline of the present object. */
	#kept = new Uint8Array(FIRST_BUFFER);
	#length = 0;
	/** Open objects and arrays. */
	#depth = 0;
	/** The depth of the array whose items are omitted. 0: none. */
	#omitted = 0;
	#isText = false;
	#isEscaped = false;
	/** The place of the text in the outline. */
	#textAt = 0;

	/** `found`: receives each outline. Objects that are not JSON, not complete, or have a large outline are skipped. */
	constructor(found: (outline: Record<string, unknown>) => void) {
		this.#found = found;
	}

	/** One loop over local variables, because it runs for each byte. The runtime searches the end of a long run that is not kept. */
	push(bytes: Uint8Array): void {
		let depth = this.#depth;
		let omitted = this.#omitted;
		let isText = this.#isText;
		let isEscaped = this.#isEscaped;
		let textAt = this.#textAt;
		let length = this.#length;
		let kept = this.#kept;
		let search: MarkSearch | undefined;
		/** Bytes since the last one with a meaning. */
		let run = 0;
		for (let at = 0; at < bytes.length; at++) {
			if (++run > LONG_RUN && (omitted > 0 || (isText && length - textAt > MAX_TEXT))) {
				search ??= new MarkSearch(bytes);
				at = search.next(isText ? TEXT_MARKS : MARKS, at);
				run = 0;
				if (at === bytes.length) break;
			}
			const byte = bytes[at] as number;
			if (isText) {
				if (isEscaped) isEscaped = false;
				else if (byte === BACKSLASH) {
					isEscaped = true;
					run = 0;
				} else if (byte === QUOTE) {
					isText = false;
					run = 0;
					if (length - textAt > MAX_TEXT) length = textAt;
				}
				if (omitted > 0 || (isText && length - textAt > MAX_TEXT)) continue;
			} else if (depth === 0) {
				if (byte !== OPEN_OBJECT) continue;
				depth = 1;
			} else if (byte === QUOTE) {
				isText = true;
				run = 0;
				textAt = length + 1;
				if (omitted > 0) continue;
			} else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
				depth++;
				run = 0;
				if (omitted > 0) continue;
				if (byte === OPEN_ARRAY) omitted = depth;
			} else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
				if (depth === omitted) omitted = 0;
				depth--;
				run = 0;
				if (omitted > 0) continue;
			} else if (omitted > 0) continue;
			if (length === kept.length && length <= MAX_OUTLINE) {
				kept = new Uint8Array(2 * length);
				kept.set(this.#kept);
				this.#kept = kept;
			}
			// Beyond the last byte of the buffer, nothing is stored.
			kept[length++] = byte;
			if (depth > 0) continue;
			this.#complete(length);
			length = 0;
		}
		this.#depth = depth;
		this.#omitted = omitted;
		this.#isText = isText;
		this.#isEscaped = isEscaped;
		this.#textAt = textAt;
		this.#length = length;
	}

	/** No further byte of the present object follows. */
	end(): void {
		this.#length = 0;
		this.#depth = 0;
		this.#omitted = 0;
		this.#isText = false;
		this.#isEscaped = false;
	}

	#complete(length: number): void {
		if (length > MAX_OUTLINE) return;
		const outline = parseJson(new TextDecoder().decode(this.#kept.subarray(0, length)));
		if (isRecord(outline)) this.#found(outline);
	}
}

/** Finds the next of several bytes. The places from which it searches must not descend. */
class MarkSearch {
	readonly #bytes: Uint8Array;
	/** The next place of each byte, as far as it is known. */
	readonly #places = new Map<number, number>();

	constructor(bytes: Uint8Array) {
		this.#bytes = bytes;
	}

	/** The length if there is none. */
	next(marks: readonly number[], from: number): number {
		return Math.min(...marks.map((mark) => this.#placeOf(mark, from)));
	}

	#placeOf(mark: number, from: number): number {
		const known = this.#places.get(mark) ?? -1;
		if (known >= from) return known;
		const found = this.#bytes.indexOf(mark, from);
		const place = found < 0 ? this.#bytes.length : found;
		this.#places.set(mark, place);
		return place;
	}
}
