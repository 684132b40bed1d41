/**
 * All texts that a step sends to an engine or a provider, for data-loss prevention: every key, string and number of its JSON whatever the
 * field's name, also inside of base64, `data:` addresses, JSON in a string and lists of bytes; the parts of a list joined; the bytes of any
 * other body whatever type the sender names; the path, the query and the headers of a provider's call.
 *
 * Not read: text that the sender encrypts, compresses or encodes in any other way, text in pixels or in sound, keys of providers, ids of traces.
 */
import { isRecord, parseJson } from "../../core/json.ts";
import { decodeBase64 } from "../../media/base64.ts";
import type { GatewayStep } from "../request.ts";

export interface SentTexts {
	texts: string[];
	/** A part of the request has no form that can be read. */
	isUnreadable: boolean;
}

/** Encodings inside of each other, such as JSON in base64 in JSON. */
const MAX_ENCODINGS = 4;
/** Shorter base64 encodes less than an email address. */
const MIN_BASE64_CHARACTERS = 8;
/** Longer runs of base64 are media. Random letters match expressions by chance, so that only the ends of a run are searched. */
const MAX_RUN_CHARACTERS = 400;
const RUN_END_CHARACTERS = 40;
/** Bounded like all repetitions here: the engine keeps a state for each character that it may give back. */
const RUN = new RegExp(`[A-Za-z0-9+/]{${MAX_RUN_CHARACTERS},10000}`, "g");
/** Text in binary data. Shorter pieces occur in media by chance. */
const MIN_PIECE_CHARACTERS = 16;
const UNPRINTABLE = /[^\t\n\r\x20-\x7e]/;
/** Up to so many invalid bytes, or this share of the characters: a text with mistakes. */
const MAX_INVALID = 16;
const MAX_INVALID_SHARE = 0.05;
const UTF_8 = new TextDecoder();
const UTF_16_MARKS = [
	{ charset: "utf-16le", first: 0xff, second: 0xfe },
	{ charset: "utf-16be", first: 0xfe, second: 0xff },
] as const;
/** Types without a character set of their own. Tools name `binary` for media. */
const NO_CHARSET: ReadonlySet<string> = new Set(["", "utf-8", "utf8", "binary"]);
const BYTE_VALUES = 256;
/** Shorter lists of numbers are searched as numbers, too. */
const MIN_BYTES = 6;

const DATA_ADDRESS = /data:([^,"'<>]{0,100}),/gi;
const WHOLE_DATA_ADDRESS = /^\s{0,9}data:([^,]{0,100}),/i;
/** Ends a `data:` address inside a text. */
const ADDRESS_END = /[\s"'<>)]/g;
const FORM_TYPE = /^(?:multipart\/form-data|application\/x-www-form-urlencoded)\b/i;
/** Decimal ids that services of tracing add to every call. */
const TRACE = /^(?:traceparent|x-datadog-(?:trace|parent)-id|x-b3-\w+)$/;
/** Google's SDKs send the key of the provider in the query. */
const KEY_IN_QUERY = /([?&]key=)[^&]*/g;

export async function sentTexts({ body, endpoint, provider, passed }: GatewayStep): Promise<SentTexts> {
	const found = new Collector();
	const { content, contentType, parameters } = body;
	found.value(parameters);
	found.address(provider === "google-ai-studio" ? endpoint.replace(KEY_IN_QUERY, "$1") : endpoint);
	if ("json" in content) found.value(content.json);
	else await found.body(content.bytes, contentType);
	for (const [name, value] of passed?.headers ?? [])
		if (!TRACE.test(name)) found.address(`${name}: ${value}`);
	// The provider may read what a JSON parser drops, such as the first of two equal keys.
	if (typeof passed?.body === "string") found.text(passed.body);
	else if (passed?.body) found.bytes(passed.body, passed.headers.get("content-type") ?? contentType);
	return found;
}

class Collector implements SentTexts {
	readonly texts: string[] = [];
	isUnreadable = false;

	async body(bytes: Uint8Array<ArrayBuffer>, contentType: string): Promise<void> {
		this.bytes(bytes, contentType);
		if (!FORM_TYPE.test(contentType)) return;
		try {
			const form = await new Response(bytes, { headers: { "content-type": contentType } }).formData();
			for (const [name, value] of form) {
				this.text(name);
				if (typeof value === "string") this.text(value);
				else {
					this.text(value.name);
					this.bytes(await value.bytes(), value.type);
				}
			}
		} catch {
			this.isUnreadable = true;
		}
	}

	/** Read as UTF-8 and as the character set of the type or of its mark, because the receiver may follow either. */
	bytes(bytes: Uint8Array, contentType = "", encodings = MAX_ENCODINGS): void {
		this.#decoded(UTF_8.decode(bytes), encodings);
		const [, named = ""] = /charset="?([\w-]+)/i.exec(contentType) ?? [];
		const mark = UTF_16_MARKS.find(({ first, second }) => bytes[0] === first && bytes[1] === second);
		for (const charset of [named.toLowerCase(), mark?.charset ?? ""])
			if (!NO_CHARSET.has(charset)) this.#inCharset(charset, bytes, encodings);
	}

	#inCharset(charset: string, bytes: Uint8Array, encodings: number): void {
		try {
			this.#decoded(new TextDecoder(charset).decode(bytes), encodings);
		} catch {
			this.isUnreadable = true;
		}
	}

	/** Of binary data the pieces of text are read. */
	#decoded(text: string, encodings: number): void {
		const invalid = countOf(text, "\ufffd");
		if (invalid > Math.max(MAX_INVALID, text.length * MAX_INVALID_SHARE)) {
			for (const piece of text.split(UNPRINTABLE))
				if (piece.length >= MIN_PIECE_CHARACTERS) this.text(piece, encodings);
			return;
		}
		this.text(text, encodings);
		if (invalid > 0) this.text(text.replaceAll("\ufffd", ""), encodings);
		// Lines of JSON, such as those of a batch.
		if (text.trimStart().startsWith("{") && text.includes("\n"))
			for (const line of text.split("\n")) this.#json(line, encodings);
	}

	/** A path, a query or a header. */
	address(text: string): void {
		this.text(text);
		const decoded = percentDecoded(text.replaceAll("+", " "));
		if (decoded !== text) this.text(decoded);
		const again = percentDecoded(decoded);
		if (again !== decoded) this.text(again);
	}

	value(value: unknown, encodings = MAX_ENCODINGS): void {
		if (typeof value === "string") this.text(value, encodings);
		else if (typeof value === "number") this.texts.push(decimal(value));
		else if (Array.isArray(value)) this.#list(value, encodings);
		else if (isRecord(value))
			for (const [name, item] of Object.entries(value)) {
				this.text(name, encodings);
				this.value(item, encodings);
			}
	}

	#list(list: readonly unknown[], encodings: number): void {
		if (list.length > 0 && list.every((item) => typeof item === "number")) {
			const isBytes = list.every((item) => Number.isInteger(item) && item >= 0 && item < BYTE_VALUES);
			if (isBytes && list.length >= MIN_BYTES) this.bytes(Uint8Array.from(list), "", encodings - 1);
			// No expression of a profile matches across lines.
			this.texts.push(list.map(decimal).join("\n"));
			return;
		}
		for (const item of list) this.value(item, encodings);
		const parts = list.flatMap((item) => partText(item) ?? []);
		if (parts.length < 2) return;
		this.#push(parts.join(" "));
		// Engines put marks between messages, and none between the parts of one.
		if (!list.some((item) => isRecord(item) && "role" in item)) this.#push(parts.join(""));
	}

	text(text: string, encodings = MAX_ENCODINGS): void {
		if (text === "") return;
		this.#push(text);
		if (encodings === 0) return;
		for (const { type, data } of dataAddresses(text)) this.#dataAddress(type, data, encodings - 1);
		if (text.length >= MIN_BASE64_CHARACTERS) {
			const bytes = base64Bytes(text);
			if (bytes) this.bytes(bytes, "", encodings - 1);
		}
		if (/%[0-9a-f]{2}/i.test(text)) this.text(percentDecoded(text), encodings - 1);
		this.#json(text, encodings);
	}

	/** Receivers ignore characters that are no base64. */
	#dataAddress(type: string, data: string, encodings: number): void {
		const content = percentDecoded(data);
		if (content !== data) this.text(content, encodings);
		if (!/;\s*base64\s*$/i.test(type)) return;
		const digits = content.replace(/[^\w+/-]/g, "");
		const bytes = base64Bytes(digits.length % 4 === 1 ? digits.slice(0, -1) : digits);
		if (bytes) this.bytes(bytes, type, encodings);
		else this.isUnreadable = true;
	}

	#json(text: string, encodings: number): void {
		const value = encodings > 0 && /^\s*[[{"]/.test(text) ? parseJson(text) : undefined;
		if (value !== undefined) this.value(value, encodings - 1);
		// A text with two equal keys, or that is no JSON to this parser, may contain escapes.
		if (encodings > 0 && /\\u[0-9a-f]{4}|\\\//i.test(text)) this.#push(unescaped(text));
	}

	#push(text: string): void {
		const searched = text.replace(
			RUN,
			(run) => `${run.slice(0, RUN_END_CHARACTERS)} ${run.slice(-RUN_END_CHARACTERS)}`,
		);
		this.texts.push(searched);
		const plain = plainCharacters(searched);
		if (plain !== searched) this.texts.push(plain);
	}
}

/** The text of a part of a message: the part itself, its `text`, or that of its content. */
function partText(part: unknown, isOfMessage = false): string | undefined {
	if (typeof part === "string") return part;
	if (!isRecord(part)) return undefined;
	const { text, content } = part;
	if (typeof text === "string") return text;
	if (typeof content === "string") return content;
	// Deeper contents would be copied once for each level.
	if (!Array.isArray(content) || isOfMessage) return undefined;
	return content.flatMap((item) => partText(item, true) ?? []).join("");
}

function* dataAddresses(text: string): Generator<{ type: string; data: string }> {
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
const decimal = (value: number): string =>
	Number.isInteger(value) ? BigInt(value).toString() : String(value);

/** Both alphabets, and line breaks. `undefined`: no base64. */
const base64Bytes = (text: string): Uint8Array | undefined =>
	/[^\w+/=\r\n-]/.test(text) ? undefined : decodeBase64(text.replaceAll("-", "+").replaceAll("_", "/"));

const percentDecoded = (text: string): string =>
	text.replace(/(?:%[0-9a-f]{2}){1,1000}/gi, (run) =>
		UTF_8.decode(Uint8Array.fromHex(run.replaceAll("%", ""))),
	);

const unescaped = (text: string): string =>
	text
		.replace(/\\u([0-9a-f]{4})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
		.replaceAll("\\/", "/");

/** Wide and styled characters as plain ones, dashes as `-`, without invisible characters: models read them the same way. */
function plainCharacters(text: string): string {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is what UTF-16 without a mark contains.
	if (!/[^\x01-\x7f]/.test(text)) return text;
	return text
		.normalize("NFKC")
		.replace(/[\p{Cf}\0]/gu, "")
		.replace(/\p{Pd}/gu, "-");
}

function countOf(text: string, character: string): number {
	let count = 0;
	for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) count++;
	return count;
}
