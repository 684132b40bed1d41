/**
 * Encodings in which a text hides another: `data:` addresses, base64, percent-encoding, escapes of JSON and HTML, and characters that
 * look like others.
 */
import { own } from "../../core/own.ts";
import { decodeBase64 } from "../../media/base64.ts";
import { decodeUtf8 } from "../../media/utf8.ts";

const DATA_ADDRESS = /data:([^,"'<>]{0,100}),/gi;
const WHOLE_DATA_ADDRESS = /^\s{0,9}data:([^,]{0,100}),/i;
/** A text that is base64 in a `data:` address as a whole. */
export const BASE64_ADDRESS = /^\s{0,9}data:[^,]{0,100};\s{0,9}base64\s{0,9},[\w+/=%\r\n-]*$/i;
/** Ends a `data:` address inside a text. */
const ADDRESS_END = /[\s"'<>)]/g;

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
		decodeUtf8(Uint8Array.fromHex(run.replaceAll("%", ""))),
	);

/** `\u0040`, `\u{40}`, `\x40`; and of HTML `&#64;`, `&#x40;` and names of marks that occur in numbers and addresses. */
const ESCAPE =
	/\\u([0-9a-f]{4})|\\u\{([0-9a-f]{1,6})\}|\\x([0-9a-f]{2})|&#x([0-9a-f]{1,6});|&#(\d{1,7});|&(commat|period|nbsp|hyphen|dash|lowbar|sol);/gi;
const NAMED: Readonly<Record<string, string>> = {
	commat: "@",
	period: ".",
	nbsp: " ",
	hyphen: "-",
	dash: "-",
	lowbar: "_",
	sol: "/",
};
const MAX_CODE_POINT = 0x10ffff;

export const hasEscapes = (text: string): boolean => /\\[ux/]|&[#a-z]/i.test(text);

export const unescaped = (text: string): string =>
	text
		.replace(
			ESCAPE,
			(whole, unit?: string, point?: string, byte?: string, hex?: string, digits?: string, name = "") => {
				const named = own(NAMED, name.toLowerCase());
				if (named !== undefined) return named;
				const code =
					digits === undefined ? Number.parseInt(unit ?? point ?? byte ?? hex ?? "", 16) : Number(digits);
				// Two escapes of a pair of surrogates are one character.
				if (unit !== undefined) return String.fromCharCode(code);
				return code <= MAX_CODE_POINT ? String.fromCodePoint(code) : whole;
			},
		)
		.replaceAll("\\/", "/");

/** Invisible copies of ASCII. */
const TAG = /[\u{e0020}-\u{e007e}]/gu;
const FIRST_TAG = 0xe0000;
const DIGITS_OF_SCRIPT = 10;
const IS_DIGIT = /\p{Nd}/u;

/** The values of digits that were found. Unicode has some hundred. */
const digitValues = new Map<string, string>();

function digitValue(character: string): string {
	const value = digitValues.get(character) ?? findDigitValue(character);
	digitValues.set(character, value);
	return value;
}

/** The value of a digit of any script. Unicode has the ten digits of a script beside each other. */
function findDigitValue(character: string): string {
	const code = character.codePointAt(0) ?? 0;
	let value = 0;
	while (IS_DIGIT.test(String.fromCodePoint(code - value - 1))) value++;
	return String(value % DIGITS_OF_SCRIPT);
}

/**
 * Wide and styled characters and the digits of all scripts as plain ones, dashes as `-`, without invisible characters and marks above
 * others: models read them the same way.
 */
export function plainCharacters(text: string): string {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is what UTF-16 without a mark contains.
	if (!/[^\x01-\x7f]/.test(text)) return text;
	return (
		text
			.replace(TAG, (tag) => String.fromCharCode((tag.codePointAt(0) ?? 0) - FIRST_TAG))
			.normalize("NFKC")
			.replace(/[\p{Cf}\0]/gu, "")
			.replace(/\p{Pd}/gu, "-")
			// biome-ignore lint/suspicious/noControlCharactersInRegex: the characters of ASCII.
			.replace(/(?<=[\x01-\x7f])\p{M}{1,100}/gu, "")
			// biome-ignore lint/suspicious/noControlCharactersInRegex: the characters of ASCII.
			.replace(/(?![\x01-\x7f])\p{Nd}/gu, digitValue)
	);
}

/**
 * Shorter base64 encodes less than a number of a card. Longer runs are media. Four characters encode three bytes, and the first bit of a
 * character of ASCII is 0, which each of the first three characters has. Words and paths rarely do, and decoding them all would take seconds.
 */
const EMBEDDED_BASE64 =
	/(?<![\w+/=-])(?:[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][\w+/-]){4,100}[\w+/-]{0,3}={0,2}(?![\w+/=-])/g;
/** Words and ids that are no base64 decode to bytes that are no text. */
const IS_PRINTABLE = /^[\t\n\r\x20-\x7e]{8,400}$/;

/** The texts that base64 inside of a text contains, such as `Decode NDExMSAx… please`. */
export const embeddedBase64 = (text: string): string[] =>
	[...text.matchAll(EMBEDDED_BASE64)].flatMap(([run]) => {
		const bytes = base64Bytes(run.replaceAll("=", ""));
		const decoded = bytes && decodeUtf8(bytes);
		return decoded !== undefined && IS_PRINTABLE.test(decoded) ? [decoded] : [];
	});

export function countOf(text: string, character: string): number {
	let count = 0;
	for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) count++;
	return count;
}
