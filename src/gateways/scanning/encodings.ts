/** Encodings in which a text hides another: `data:` addresses, base64, percent-encoding, escapes, and characters that look like others. */
import { decodeBase64 } from "../../media/base64.ts";

const DATA_ADDRESS = /data:([^,"'<>]{0,100}),/gi;
const WHOLE_DATA_ADDRESS = /^\s{0,9}data:([^,]{0,100}),/i;
/** A text that is base64 in a `data:` address as a whole. */
export const BASE64_ADDRESS = /^\s{0,9}data:[^,]{0,100};\s{0,9}base64\s{0,9},[\w+/=%\r\n-]*$/i;
/** Ends a `data:` address inside a text. */
const ADDRESS_END = /[\s"'<>)]/g;
export const UTF_8 = new TextDecoder();

export function* dataAddresses(text: string): Generator<{ type: string; data: string }> {
	const [head, type = ""] = WHOLE_DATA_ADDRESS.exec(text) ?? [];
	if (head !== undefined) return yield { type, data: text.slice(head.length) };
	const begin = new RegExp(DATA_ADDRESS);
	const end = new RegExp(ADDRESS_END);
	for (let found = begin.exec(text); found; found = begin.exec(text)) {
		end.lastIndex = begin.lastIndex;
		const at = end.exec(text)?.index ?? text.length;
		yield { type: found[1] ?? "", data: text.slice(begin.lastIndex, at) };
		begin.lastIndex = at;
	}
}

/** Without an exponent, which JavaScript writes from 1e21. */
export const decimal = (value: number): string =>
	Number.isInteger(value) ? BigInt(value).toString() : String(value);

/** Both alphabets, and line breaks. `undefined`: no base64. */
export const base64Bytes = (text: string): Uint8Array | undefined =>
	/[^\w+/=\r\n-]/.test(text) ? undefined : decodeBase64(text.replaceAll("-", "+").replaceAll("_", "/"));

export const percentDecoded = (text: string): string =>
	text.replace(/(?:%[0-9a-f]{2}){1,1000}/gi, (run) =>
		UTF_8.decode(Uint8Array.fromHex(run.replaceAll("%", ""))),
	);

export const unescaped = (text: string): string =>
	text
		.replace(/\\u([0-9a-f]{4})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
		.replaceAll("\\/", "/");

/** Wide and styled characters as plain ones, dashes as `-`, without invisible characters: models read them the same way. */
export function plainCharacters(text: string): string {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is what UTF-16 without a mark contains.
	if (!/[^\x01-\x7f]/.test(text)) return text;
	return text
		.normalize("NFKC")
		.replace(/[\p{Cf}\0]/gu, "")
		.replace(/\p{Pd}/gu, "-");
}

export function countOf(text: string, character: string): number {
	let count = 0;
	for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) count++;
	return count;
}
