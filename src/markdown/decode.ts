/**
 * The text of a file: by its byte order mark, else as its sender or the file itself says, else as UTF-8, and what is
 * not UTF-8 as Windows-1252, as browsers do.
 */
import { ConversionFailure } from "./work.ts";

/** How far into the file browsers look for what it says of itself. */
const DECLARATION_BYTES = 1024;
const DECLARED = /<\?xml[^>]*\bencoding\s*=\s*["']?([\w-]+)|<meta[^>]*\bcharset\s*=\s*["']?\s*([\w-]+)/i;

export function decodeText(bytes: Uint8Array, sentType: string): string {
	const text = decodeAs(bytes, charsetOf(bytes, sentType));
	// No text has one, and every format that is not text does.
	if (text.includes("\0")) throw new ConversionFailure("The file is not text");
	return text;
}

function charsetOf(bytes: Uint8Array, sentType: string): string | undefined {
	const [first, second, third] = bytes;
	if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
	if (first === 0xff && second === 0xfe) return "utf-16le";
	if (first === 0xfe && second === 0xff) return "utf-16be";
	const sent = /;\s*charset\s*=\s*"?([\w-]+)/i.exec(sentType)?.[1];
	if (sent) return sent;
	const head = new TextDecoder("latin1").decode(bytes.subarray(0, DECLARATION_BYTES));
	const [, xml, html] = DECLARED.exec(head) ?? [];
	const declared = xml ?? html;
	// Words that were readable as single bytes are not UTF-16, whatever they say.
	return declared && !/^utf-?16/i.test(declared) ? declared : undefined;
}

function decodeAs(bytes: Uint8Array, charset: string | undefined): string {
	if (charset) {
		try {
			return new TextDecoder(charset).decode(bytes);
		} catch {
			// A charset that nobody knows says nothing.
		}
	}
	try {
		return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
	} catch {
		return new TextDecoder("windows-1252").decode(bytes);
	}
}
