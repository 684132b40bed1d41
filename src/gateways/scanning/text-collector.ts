/**
 * The texts of a request, whatever the fields' names: every key, string and number of its JSON, also inside of base64, `data:` addresses,
 * JSON in a string, summaries of the gateway and lists of bytes; the parts of a list joined; the bytes of any other body whatever type
 * the sender names.
 *
 * Not read: text that the sender encrypts, compresses or encodes in any other way, text in pixels or in sound.
 */
import { isRecord, parseJson } from "../../core/json.ts";
import { summaryText } from "../../dialects/responses/summary.ts";
import { decodeUtf8 } from "../../media/utf8.ts";
import {
	BASE64_ADDRESS,
	base64Bytes,
	countOf,
	dataAddresses,
	decimal,
	embeddedBase64,
	hasEscapes,
	percentDecoded,
	plainCharacters,
	unescaped,
} from "./encodings.ts";

/**
 * `base64`: a long text that is base64 as a whole. `decoded`: the content of an encoding. `joined`: of texts that were also found
 * alone, or without invalid bytes.
 * `name`: the key of a field.
 */
type TextForm = "text" | "base64" | "decoded" | "joined" | "name" | "number";

export interface CollectedText {
	text: string;
	/** With plain characters, as models read it. */
	plain: string;
	form: TextForm;
	/** The name of the field that contains the value, or an empty text. */
	field: string;
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
const UTF_16_MARKS = [
	{ charset: "utf-16le", first: 0xff, second: 0xfe },
	{ charset: "utf-16be", first: 0xfe, second: 0xff },
] as const;
/** Types without a character set of their own. Tools name `binary` for media. */
const NO_CHARSET: ReadonlySet<string> = new Set(["", "utf-8", "utf8", "binary"]);
const BYTE_VALUES = 256;
/** Shorter lists of numbers are searched as numbers, too. */
const MIN_BYTES = 6;

const FORM_TYPE = /^(?:multipart\/form-data|application\/x-www-form-urlencoded)\b/i;

export class TextCollector {
	/** A part has no form that can be read. */
	isUnreadable = false;
	readonly #add: (text: CollectedText) => void;

	constructor(add: (text: CollectedText) => void) {
		this.#add = add;
	}

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
		this.#decoded(decodeUtf8(bytes), encodings);
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
		if (invalid > 0) this.text(text.replaceAll("\ufffd", ""), encodings, { form: "joined" });
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

	/** `field`: the name of the field that has the value. */
	value(value: unknown, encodings = MAX_ENCODINGS, field = ""): void {
		if (typeof value === "string") this.text(value, encodings, { field });
		else if (typeof value === "number") this.#number(decimal(value), field);
		else if (Array.isArray(value)) this.#list(value, encodings, field);
		else if (isRecord(value))
			for (const [name, item] of Object.entries(value)) {
				this.text(name, encodings, { form: "name" });
				this.value(item, encodings, name);
			}
	}

	#number(text: string, field: string): void {
		this.#add({ text, plain: text, form: "number", field });
	}

	#list(list: readonly unknown[], encodings: number, field: string): void {
		if (list.length > 0 && list.every((item) => typeof item === "number")) {
			const isBytes = list.every((item) => Number.isInteger(item) && item >= 0 && item < BYTE_VALUES);
			if (isBytes && list.length >= MIN_BYTES) this.bytes(Uint8Array.from(list), "", encodings - 1);
			// No expression of a profile matches across lines.
			this.#number(list.map(decimal).join("\n"), field);
			return;
		}
		for (const item of list) this.value(item, encodings, field);
		const parts = list.flatMap((item) => partText(item) ?? []);
		if (parts.length < 2) return;
		this.#push(parts.join(" "), "joined", field);
		// Engines put marks between messages, and none between the parts of one.
		if (!list.some((item) => isRecord(item) && "role" in item))
			this.#push(parts.join(""), formOf(encodings), field);
	}

	text(
		text: string,
		encodings = MAX_ENCODINGS,
		{ form = formOf(encodings), field = "" }: { form?: TextForm; field?: string } = {},
	): void {
		if (text === "") return;
		const summary = encodings > 0 ? summaryText(text) : undefined;
		if (summary !== undefined) {
			this.text(summary, encodings - 1, { field });
			return;
		}
		const bytes = text.length >= MIN_BASE64_CHARACTERS ? base64Bytes(text) : undefined;
		const isBase64 = (bytes && text.length > MAX_RUN_CHARACTERS) || BASE64_ADDRESS.test(text);
		this.#push(text, isBase64 ? "base64" : form, field);
		if (encodings === 0) return;
		for (const { type, data } of dataAddresses(text)) this.#dataAddress(type, data, encodings - 1);
		if (bytes) this.bytes(bytes, "", encodings - 1);
		// No expression of a profile matches across lines, and one search is faster than thousands.
		else if (!isBase64) this.text(embeddedBase64(text).join("\n"), encodings - 1, { form: "decoded" });
		if (/%[0-9a-f]{2}/i.test(text)) this.text(percentDecoded(text), encodings - 1, { form: "text" });
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
		if (encodings > 0 && hasEscapes(text)) this.#push(unescaped(text), "decoded");
	}

	#push(text: string, form: TextForm, field = ""): void {
		const searched = text.replace(
			RUN,
			(run) => `${run.slice(0, RUN_END_CHARACTERS)} ${run.slice(-RUN_END_CHARACTERS)}`,
		);
		this.#add({ text: searched, plain: plainCharacters(searched), form, field });
	}
}

const formOf = (encodings: number): TextForm => (encodings === MAX_ENCODINGS ? "text" : "decoded");

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
