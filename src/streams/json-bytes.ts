/** Reads JSON strings by their bytes, without a copy of the text around them. */

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
const SPACE = 0x20;
const ASCII_END = 0x80;
/** The escapes that `JSON.stringify` writes without a code, with their characters. Content with only these is copied unchanged. */
const ESCAPES: ReadonlyMap<number, string> = new Map([
	[QUOTE, '"'],
	[BACKSLASH, "\\"],
	[0x62, "\b"],
	[0x66, "\f"],
	[0x6e, "\n"],
	[0x72, "\r"],
	[0x74, "\t"],
]);

/** A byte order mark is text inside an event. */
const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
const REPLACEMENT = "\ufffd";

export function hasAt(bytes: Uint8Array, part: Uint8Array, from: number): boolean {
	for (let i = 0; i < part.length; i++) if (bytes[from + i] !== part[i]) return false;
	return true;
}

/**
 * The text of a JSON string, without its quotation marks. `undefined` if it is not one, or if `JSON.stringify` would write
 * it in another way.
 */
export function textOfJson(bytes: Uint8Array, from: number, to: number): string | undefined {
	let text = "";
	let isAscii = true;
	for (let at = from; at < to; at++) {
		const byte = bytes[at] ?? QUOTE;
		if (byte === QUOTE || byte < SPACE) return undefined;
		if (byte === BACKSLASH) {
			// The content must not end in the middle of an escape.
			const escaped = ++at < to ? ESCAPES.get(bytes[at] ?? SPACE) : undefined;
			if (escaped === undefined) return undefined;
			text += escaped;
		} else if (byte >= ASCII_END) isAscii = false;
		else text += String.fromCharCode(byte);
	}
	if (isAscii) return text;
	const json = decoder.decode(bytes.subarray(from, to));
	return json.includes(REPLACEMENT) ? undefined : JSON.parse(`"${json}"`);
}

/** The position of the quotation mark that ends the JSON string whose characters begin at `from`; the end of the bytes without one. */
export function endOfString(bytes: Uint8Array, from: number): number {
	let at = from;
	while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
	return Math.min(at, bytes.length);
}
