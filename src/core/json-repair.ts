/**
 * Repairs the JSON of an object that a model wrote, piece by piece. Valid JSON passes unchanged. What is written is never taken back, so
 * it can be streamed.
 *
 * Repaired: texts in single quotes, names and words without quotes, Python's `True`, `False` and `None`, line breaks and other control
 * characters in texts, unknown escapes, a comma before a bracket, and text after the object. Anything else that is no JSON makes the
 * text `broken`: what follows is returned as it is. Missing ends are not added, because the text may have been cut.
 */
import { parseJson } from "./json.ts";
import { LITERALS, valueOfWord } from "./json-words.ts";

/** `open`: the object has begun. `other`: it is no object, and is returned as it is. */
type RepairState = "empty" | "open" | "complete" | "broken" | "other";

type Mode =
	| "start"
	/** After `{`, or after a comma inside of an object. */
	| "name"
	| "bare name"
	| "colon"
	| "value"
	| "number"
	| "word"
	| "text"
	| "escape"
	/** The four digits of `\u`. */
	| "digits"
	/** After a value. */
	| "next"
	| "end"
	/** The rest is returned as it is. */
	| "raw";

const SPACE = /\s/;
const NAME = /[\p{L}\p{N}_$-]/u;
const WORD = /[\p{L}_$]/u;
const WORD_END = /[,}\]\n]/;
const NUMBER_SIGN = /[\d.eE+-]/;
const HEX_DIGIT = /[\da-fA-F]/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const ESCAPES = '"\\/bfnrtu';
const DIGITS = 4;
const SPACE_CODE = 0x20;
const QUOTE_CODE = 0x22;
const APOSTROPHE_CODE = 0x27;
const BACKSLASH_CODE = 0x5c;

export class JsonRepair {
	#mode: Mode = "start";
	readonly #brackets: string[] = [];
	#isAfterBracket = false;
	#isAfterComma = false;
	/** A comma, and the space after it, which are written if a value follows. */
	#comma = "";
	/** The number or word that has begun. */
	#token = "";
	#quote = "";
	/** The text is the name of a member. */
	#isName = false;
	#digits = 0;
	#isBroken = false;
	#isReadAgain = false;
	readonly #holdsSigns: boolean;

	/** @param holdsSigns `false`: pieces of valid JSON are written as they come, so a comma at the end of one is not taken back. */
	constructor({ holdsSigns = true }: { holdsSigns?: boolean } = {}) {
		this.#holdsSigns = holdsSigns;
	}

	get state(): RepairState {
		if (this.#isBroken) return "broken";
		if (this.#mode === "start") return "empty";
		if (this.#mode === "raw") return "other";
		return this.#mode === "end" ? "complete" : "open";
	}

	/** Returns what to write of a piece. */
	write(piece: string): string {
		let out = "";
		for (let at = 0; at < piece.length; ) {
			if (this.#mode === "raw") return out + piece.slice(at);
			if (this.#mode === "text") {
				const end = endOfPlainText(piece, at);
				out += piece.slice(at, end);
				at = end;
				if (at === piece.length) return out;
			}
			const sign = signAt(piece, at);
			this.#isReadAgain = false;
			out += this.#read(sign);
			if (!this.#isReadAgain) at += sign.length;
		}
		return this.#holdsSigns ? out : out + this.#release();
	}

	/** What is held at the end of a piece, although the next one may show that it is wrong. */
	#release(): string {
		const comma = this.#comma;
		this.#comma = "";
		if (this.#mode !== "word" || !LITERALS.has(this.#token)) return comma;
		this.#mode = "next";
		return comma + this.#token;
	}

	#read(sign: string): string {
		switch (this.#mode) {
			case "text":
				return this.#readText(sign);
			case "escape":
				return this.#readEscape(sign);
			case "digits":
				if (!HEX_DIGIT.test(sign)) return this.#break(sign);
				if (--this.#digits === 0) this.#mode = "text";
				return sign;
			case "number":
				return this.#readNumber(sign);
			case "word":
				return this.#readWord(sign);
			case "bare name":
				return this.#readBareName(sign);
			case "end":
				return SPACE.test(sign) ? sign : "";
			default:
				return SPACE.test(sign) ? this.#space(sign) : this.#readStructure(sign);
		}
	}

	/** The value has ended before the sign, which is read again. */
	#endValue(written: string, mode: Mode = "next"): string {
		this.#mode = mode;
		this.#isReadAgain = true;
		return written;
	}

	#readNumber(sign: string): string {
		if (NUMBER_SIGN.test(sign)) {
			this.#token += sign;
			return sign;
		}
		return NUMBER.test(this.#token) ? this.#endValue("") : this.#break(sign);
	}

	#readBareName(sign: string): string {
		if (!NAME.test(sign)) return this.#endValue(JSON.stringify(this.#token), "colon");
		this.#token += sign;
		return "";
	}

	#space(sign: string): string {
		if (this.#comma === "") return sign;
		this.#comma += sign;
		return "";
	}

	/** A sign between the values. */
	#readStructure(sign: string): string {
		switch (this.#mode) {
			case "start":
				if (sign === "{") return this.#open(sign);
				this.#mode = "raw";
				return sign;
			case "name":
				if (sign === '"' || sign === "'") return this.#takeComma() + this.#beginText(sign, true);
				if (sign === "}") return this.#close(sign);
				if (!NAME.test(sign)) return this.#break(sign);
				this.#mode = "bare name";
				this.#token = sign;
				return this.#takeComma();
			case "colon":
				if (sign !== ":") return this.#break(sign);
				this.#mode = "value";
				return sign;
			case "value":
				return this.#beginValue(sign);
			case "next":
				if (sign === "}" || sign === "]") return this.#close(sign);
				if (sign !== ",") return this.#break(sign);
				this.#mode = this.#brackets.at(-1) === "{" ? "name" : "value";
				this.#isAfterComma = true;
				this.#comma = sign;
				return "";
			default:
				return this.#break(sign);
		}
	}

	#beginValue(sign: string): string {
		if (sign === "]" && (this.#isAfterBracket || this.#isAfterComma)) return this.#close(sign);
		const comma = this.#takeComma();
		if (sign === '"' || sign === "'") return comma + this.#beginText(sign, false);
		if (sign === "{" || sign === "[") return comma + this.#open(sign);
		this.#token = sign;
		if (/[-\d]/.test(sign)) {
			this.#mode = "number";
			return comma + sign;
		}
		if (!WORD.test(sign)) return comma + this.#break(sign);
		this.#mode = "word";
		return comma;
	}

	#readWord(sign: string): string {
		if (!WORD_END.test(sign)) {
			this.#token += sign;
			return "";
		}
		const word = this.#token.trimEnd();
		const space = this.#token.slice(word.length);
		const value = valueOfWord(word);
		return value === undefined ? this.#break(this.#token + sign) : this.#endValue(value + space);
	}

	#beginText(quote: string, isName: boolean): string {
		this.#mode = "text";
		this.#quote = quote;
		this.#isName = isName;
		return '"';
	}

	/** A quote, a backslash or a control character. */
	#readText(sign: string): string {
		if (sign === this.#quote) {
			this.#mode = this.#isName ? "colon" : "next";
			return '"';
		}
		if (sign === "'") return sign;
		if (sign === '"') return '\\"';
		if (sign !== "\\") return JSON.stringify(sign).slice(1, -1);
		this.#mode = "escape";
		return sign;
	}

	/** The backslash is written. */
	#readEscape(sign: string): string {
		this.#mode = "text";
		if (sign === "u") {
			this.#mode = "digits";
			this.#digits = DIGITS;
			return sign;
		}
		if (ESCAPES.includes(sign)) return sign;
		if (sign === "'") return "u0027";
		return sign < " " ? JSON.stringify(sign).slice(2, -1) : `\\${sign}`;
	}

	#open(bracket: string): string {
		this.#brackets.push(bracket);
		this.#mode = bracket === "{" ? "name" : "value";
		this.#isAfterBracket = true;
		return bracket;
	}

	#close(bracket: string): string {
		const isPair = this.#brackets.at(-1) === (bracket === "}" ? "{" : "[");
		if (!isPair || (this.#isAfterComma && this.#comma === "")) return this.#break(bracket);
		this.#brackets.pop();
		const space = this.#takeComma().slice(1);
		this.#mode = this.#brackets.length === 0 ? "end" : "next";
		return space + bracket;
	}

	#takeComma(): string {
		const comma = this.#comma;
		this.#comma = "";
		this.#isAfterBracket = false;
		this.#isAfterComma = false;
		return comma;
	}

	#break(sign: string): string {
		this.#isBroken = true;
		this.#mode = "raw";
		return this.#takeComma() + sign;
	}
}

/** One character, also one of two code units. */
function signAt(piece: string, at: number): string {
	return String.fromCodePoint(piece.codePointAt(at) ?? 0);
}

/** The end of the part of a text that needs no change: a quote, a backslash or a control character. */
function endOfPlainText(piece: string, at: number): number {
	for (let end = at; end < piece.length; end++) {
		const code = piece.charCodeAt(end);
		if (code < SPACE_CODE || code === QUOTE_CODE || code === APOSTROPHE_CODE || code === BACKSLASH_CODE)
			return end;
	}
	return piece.length;
}

/** The repaired text of an object. A text that is cut, that cannot be repaired, or that is no object is returned as it is. */
export function repairedObject(text: string): string {
	if (parseJson(text) !== undefined) return text;
	const repair = new JsonRepair();
	const written = repair.write(text);
	return repair.state === "complete" ? written : text;
}
