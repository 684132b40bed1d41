/** Decodes UTF-8. */
import { Buffer, isUtf8 } from "node:buffer";

/**
 * The runtime's decoder fills six bytes of memory for each byte of a text that is not ASCII. For a large text this takes longer than to
 * parse it. A text of a `Buffer` needs only the memory of its characters, but costs more for small ones.
 */
const LARGE_BYTES = 1024 * 1024;

const DECODER = new TextDecoder();
const STRICT_DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** Larger pieces are decoded in slices of this size. */
const SLICE_BYTES = 64 * 1024;

/** Without a byte order mark. Each invalid sequence becomes U+FFFD, as in a `TextDecoder`. */
export const decodeUtf8 = (bytes: Uint8Array): string =>
	bytes.length < LARGE_BYTES ? DECODER.decode(bytes) : decodeLarge(bytes);

/** Without a byte order mark. Throws a `TypeError` if the bytes are invalid. */
export function decodeStrictUtf8(bytes: Uint8Array): string {
	if (bytes.length < LARGE_BYTES) return STRICT_DECODER.decode(bytes);
	if (!isUtf8(bytes)) throw new TypeError("The bytes are not UTF-8");
	return decodeLarge(bytes);
}

function decodeLarge({ buffer, byteOffset, length }: Uint8Array): string {
	const bytes = Buffer.from(buffer, byteOffset, length);
	const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
	return bytes.toString("utf8", hasMark ? 3 : 0);
}

/** Decodes the pieces of one text, as {@link decodeUtf8} decodes the whole. A character may be in two pieces. */
export class Utf8Pieces {
	readonly #decoder = new TextDecoder();

	decode(piece: Uint8Array): string {
		if (piece.length < LARGE_BYTES) return this.#decoder.decode(piece, { stream: true });
		let text = "";
		for (let at = 0; at < piece.length; at += SLICE_BYTES)
			text += this.#decoder.decode(piece.subarray(at, at + SLICE_BYTES), { stream: true });
		return text;
	}

	/** What is left at the end: U+FFFD for a character that is not complete. */
	end(): string {
		return this.#decoder.decode();
	}
}
