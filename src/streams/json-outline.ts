/**
 * Reads the outlines of JSON objects in bytes that arrive in pieces. An outline has all fields, but its arrays and long texts are empty.
 * So a small field of an answer can be read in bounded memory, however large the answer is.
 *
 * The objects follow one another, or are the items of an outermost array. Other bytes between them are ignored.
 */
import { isRecord, parseJson } from "../core/json.ts";
import { decodeUtf8 } from "../media/utf8.ts";

/** Longer texts are empty in the outline. */
const MAX_TEXT_BYTES = 256;
/** Larger outlines are dropped. */
const MAX_OUTLINE_BYTES = 64 * 1024;
const FIRST_BUFFER_BYTES = 1024;
/** After so many bytes without a mark, a search is faster than the loop. */
const LONG_RUN_BYTES = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** The bytes that change the state: inside a text, and outside. */
const TEXT_MARKS = [QUOTE, BACKSLASH] as const;
const MARKS = [QUOTE, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] as const;

export class JsonOutlines {
	readonly #onOutline: (outline: Record<string, unknown>) => void;
	/** The outline of the current object. */
	#kept = new Uint8Array(FIRST_BUFFER_BYTES);
	#length = 0;
	/** Open objects and arrays. */
	#depth = 0;
	/** The depth of the array whose items are omitted. 0: none. */
	#omitted = 0;
	#isText = false;
	#isEscaped = false;
	/** The position of the text in the outline. */
	#textAt = 0;

	/** `onOutline`: receives each outline. Objects that are invalid, incomplete, or have a large outline are skipped. */
	constructor(onOutline: (outline: Record<string, unknown>) => void) {
		this.#onOutline = onOutline;
	}

	/** Copies the state to local variables, because the loop runs for each byte. `indexOf` finds the end of a long run that is not kept. */
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
			if (++run > LONG_RUN_BYTES && (omitted > 0 || (isText && length - textAt > MAX_TEXT_BYTES))) {
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
					if (length - textAt > MAX_TEXT_BYTES) length = textAt;
				}
				if (omitted > 0 || (isText && length - textAt > MAX_TEXT_BYTES)) continue;
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
			if (length === kept.length && length <= MAX_OUTLINE_BYTES) {
				kept = new Uint8Array(2 * length);
				kept.set(this.#kept);
				this.#kept = kept;
			}
			// A write beyond the end of the buffer has no effect.
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

	/** Drops an incomplete object. The next byte may begin another. */
	end(): void {
		this.#length = 0;
		this.#depth = 0;
		this.#omitted = 0;
		this.#isText = false;
		this.#isEscaped = false;
	}

	#complete(length: number): void {
		if (length > MAX_OUTLINE_BYTES) return;
		const outline = parseJson(decodeUtf8(this.#kept.subarray(0, length)));
		if (isRecord(outline)) this.#onOutline(outline);
	}
}

/** Finds the next of several bytes. `from` must not be less than in the call before. */
class MarkSearch {
	readonly #bytes: Uint8Array;
	/** The last found position of each byte. */
	readonly #places = new Map<number, number>();

	constructor(bytes: Uint8Array) {
		this.#bytes = bytes;
	}

	/** Returns the length if none of them follows. */
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
