/**
 * Checks limits of a JSON text before it is parsed, because the parser can use seconds of CPU to build millions of keys or
 * lists. The scan finds strings, lists and objects. It does not check the grammar.
 */
import type { AiError } from "../core/errors.ts";
import { badInput } from "../dialects/invalid-input.ts";

/** Strings (including keys), lists and objects. Numbers do not count: a file may be sent as a list of its bytes. */
const MAX_VALUES = 100_000;

/** For each object. In a larger one, each key costs the parser and every reader several times as much. */
const MAX_KEYS = 5_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Throws 5006 if the text has too many values or is nested too deep, or if an object has too many keys. */
export function boundJson(text: string, maxDepth: number): void {
	let values = 0;
	let depth = 0;
	/** Commas that the object at each depth may still have. A list may have any number. */
	const commas: number[] = [Number.POSITIVE_INFINITY];
	for (let at = 0; at < text.length; at++) {
		const character = text.charCodeAt(at);
		if (character === QUOTE) {
			values++;
			at = endOfString(text, at + 1);
		} else if (character === OPEN_LIST || character === OPEN_OBJECT) {
			values++;
			if (++depth > maxDepth) throw tooDeep(maxDepth);
			commas[depth] = character === OPEN_OBJECT ? MAX_KEYS - 1 : Number.POSITIVE_INFINITY;
		} else if (character === CLOSE_LIST || character === CLOSE_OBJECT) depth = Math.max(0, depth - 1);
		else if (character === COMMA) {
			const remaining = (commas[depth] ?? 0) - 1;
			if (remaining < 0) throw badInput(`an object holds more than ${MAX_KEYS} keys`);
			commas[depth] = remaining;
		}
		if (values > MAX_VALUES) throw badInput(`'/' holds more than ${MAX_VALUES} values`);
	}
}

export const tooDeep = (limit: number): AiError => badInput(`nested deeper than ${limit} levels`);

/** Index of the closing quote, or of the end of the text. The native search skips long strings fast. */
function endOfString(text: string, start: number): number {
	let quote = text.indexOf('"', start);
	while (quote >= 0 && isEscaped(text, quote, start)) quote = text.indexOf('"', quote + 1);
	return quote < 0 ? text.length : quote;
}

/** Whether an odd number of backslashes precedes the position. */
function isEscaped(text: string, position: number, start: number): boolean {
	let first = position;
	while (first > start && text.charCodeAt(first - 1) === BACKSLASH) first--;
	return (position - first) % 2 === 1;
}
