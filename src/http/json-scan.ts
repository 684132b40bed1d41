/**
 * Bounds on a JSON text before it is parsed: the parser would first build millions of keys or lists, for seconds of CPU.
 * The scan finds strings, lists and objects; it does not check the grammar.
 */
import { AiError } from "../core/errors.ts";

/** Strings (keys among them), lists and objects. Numbers are free: a file may be sent as a list of its bytes. */
const MAX_VALUES = 100_000;

/** Of one object. A larger one costs the parser and each reader several times as much for a key. */
const MAX_KEYS = 5_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Throws 5006 where the text holds too many values, nests too deep, or an object has too many keys. */
export function boundJson(bytes: Uint8Array, maxDepth: number): void {
	let values = 0;
	let depth = 0;
	/** Commas that the object at each depth may still have. A list may have any number. */
	const commas: number[] = [Number.POSITIVE_INFINITY];
	for (let at = 0; at < bytes.length; at++) {
		const byte = bytes[at];
		if (byte === QUOTE) {
			values++;
			at = endOfString(bytes, at + 1);
		} else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
			values++;
			if (++depth > maxDepth) throw tooDeep(maxDepth);
			commas[depth] = byte === OPEN_OBJECT ? MAX_KEYS - 1 : Number.POSITIVE_INFINITY;
		} else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth = Math.max(0, depth - 1);
		else if (byte === COMMA) {
			const left = (commas[depth] ?? 0) - 1;
			if (left < 0) throw new AiError("badInput", `Error: an object holds more than ${MAX_KEYS} keys`);
			commas[depth] = left;
		}
		if (values > MAX_VALUES) throw new AiError("badInput", `Error: '/' holds more than ${MAX_VALUES} values`);
	}
}

export const tooDeep = (limit: number): AiError =>
	new AiError("badInput", `Error: nested deeper than ${limit} levels`);

/** Index of the closing quote, or of the end. The native search is fast over files in base64, which have no escapes. */
function endOfString(bytes: Uint8Array, start: number): number {
	const quote = bytes.indexOf(QUOTE, start);
	if (quote < 0) return bytes.length;
	if (bytes[quote - 1] !== BACKSLASH) return quote;
	let at = start;
	while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
	return at;
}
