/** Sizes of texts, computed without building another text. */
import { Buffer } from "node:buffer";

/** Bytes of the text in UTF-8. Uses Node's `Buffer`: a loop takes twenty times as long, and prompts may be a megabyte. */
export const utf8Length = (text: string): number => Buffer.byteLength(text);

/** Unicode code points, the billing unit of text-to-speech. */
export function codePoints(text: string): number {
	let points = 0;
	for (let i = 0; i < text.length; points++) i += isFirstHalf(text, i) && isSecondHalf(text, i + 1) ? 2 : 1;
	return points;
}

const isFirstHalf = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xd800;
const isSecondHalf = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xdc00;

/** Writes plain data as compact JSON in pieces, without escapes. Values that JSON cannot express are omitted. */
export function writeJson(value: unknown, write: (piece: string) => void): void {
	if (typeof value === "string") {
		write('"');
		write(value);
		write('"');
	} else if (Array.isArray(value)) {
		write("[");
		for (let i = 0; i < value.length; i++) {
			if (i > 0) write(", ");
			writeJson(value[i], write);
		}
		write("]");
	} else if (typeof value === "object" && value !== null) {
		let first = true;
		for (const [key, member] of Object.entries(value)) {
			if (member === undefined) continue;
			write(first ? '{"' : ', "');
			write(key);
			write('": ');
			writeJson(member, write);
			first = false;
		}
		write(first ? "{}" : "}");
	} else if (value !== undefined) {
		write(String(value));
	}
}
