/**
 * Decodes the text of a file. The charset is that of the byte order mark, else of the sender's type, else the one declared
 * in the file, else UTF-8; invalid UTF-8 is decoded as Windows-1252, as in browsers.
 */
import { decodeStrictUtf8, decodeUtf8 } from "../../media/utf8.ts";
import { ConversionFailure } from "./work.ts";

/** Browsers look for a charset declaration in the first bytes only. */
const DECLARATION_BYTES = 1024;
const DECLARED = /<\?xml[^>]*\bencoding\s*=\s*["']?([\w-]+)|<meta[^>]*\bcharset\s*=\s*["']?\s*([\w-]+)/i;
const IS_UTF8 = /^utf-?8$/i;

export function decodeText(bytes: Uint8Array, sentType: string): string {
	const text = decodeAs(bytes, charsetOf(bytes, sentType));
	// Binary formats contain NUL; text does not.
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
	// A declaration that is readable as single bytes cannot be UTF-16.
	return declared && !/^utf-?16/i.test(declared) ? declared : undefined;
}

function decodeAs(bytes: Uint8Array, charset: string | undefined): string {
	if (charset && IS_UTF8.test(charset)) return decodeUtf8(bytes);
	if (charset) {
		try {
			return new TextDecoder(charset).decode(bytes);
		} catch {
			// An unknown charset is ignored.
		}
	}
	try {
		return decodeStrictUtf8(bytes);
	} catch {
		return new TextDecoder("windows-1252").decode(bytes);
	}
}
