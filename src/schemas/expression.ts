/**
 * Parses regular expressions of JSON Schemas (ECMA-262 with the flag `u`) into trees. Look-around, back references and
 * modifiers are not supported. The parser accepts some invalid expressions; only the runtime decides validity.
 */
import { own } from "../core/own.ts";

/** Code points, both ends included. */
export type Ranges = readonly (readonly [first: number, last: number])[];

export type Expression =
	/** `pick` is one matching character to write; undefined if only the runtime knows one, and `ranges` may then be too large. */
	| { kind: "character"; ranges: Ranges; pick: string | undefined }
	| { kind: "assertion"; sign: "^" | "$" | "b" | "B" }
	| { kind: "sequence"; parts: Expression[] }
	| { kind: "choice"; options: Expression[] }
	| { kind: "repeat"; part: Expression; min: number; max: number };

/** Longer and deeper expressions are not parsed. */
const MAX_LENGTH = 2_000;
const MAX_DEPTH = 50;

const LAST = 0x10ffff;
/** All characters after Latin-1. */
const BEYOND = [0x100, LAST] as const;
const DIGITS: Ranges = [[0x30, 0x39]];
const WORD: Ranges = [
	[0x30, 0x39],
	[0x41, 0x5a],
	[0x5f, 0x5f],
	[0x61, 0x7a],
];
const SPACE: Ranges = [
	[0x09, 0x0d],
	[0x20, 0x20],
	[0xa0, 0xa0],
	[0x1680, 0x1680],
	[0x2000, 0x200a],
	[0x2028, 0x2029],
	[0x202f, 0x202f],
	[0x205f, 0x205f],
	[0x3000, 0x3000],
	[0xfeff, 0xfeff],
];
const LINE_ENDS: Ranges = [
	[0x0a, 0x0a],
	[0x0d, 0x0d],
	[0x2028, 0x2029],
];
const CLASSES: Record<string, Ranges> = {
	d: DIGITS,
	D: complement(DIGITS),
	w: WORD,
	W: complement(WORD),
	s: SPACE,
	S: complement(SPACE),
};
const CONTROLS: Record<string, string> = { n: "\n", t: "\t", r: "\r", v: "\v", f: "\f", 0: "\0" };
/** The preferred characters to write for a class that does not begin with a single character. */
const PLAIN = "a0A -_.~\n";

/** All other characters. The ranges may be in any order. */
function complement(ranges: Ranges): Ranges {
	const others: [number, number][] = [];
	let from = 0;
	for (const [first, last] of [...ranges].sort((a, b) => a[0] - b[0])) {
		if (first > from) others.push([from, first - 1]);
		from = Math.max(from, last + 1);
	}
	if (from <= LAST) others.push([from, LAST]);
	return others;
}

const plainest = (ranges: Ranges): string | undefined => {
	const isIn = (code: number) => ranges.some(([first, last]) => code >= first && code <= last);
	const [first] = ranges;
	return [...PLAIN].find((sign) => isIn(sign.charCodeAt(0))) ?? (first && String.fromCodePoint(first[0]));
};

/** The characters of a Unicode property (`\p{L}`) in Latin-1, plus all characters after Latin-1. */
function approximateProperty(property: string): Ranges {
	let known: RegExp;
	try {
		known = new RegExp(property, "u");
	} catch {
		throw new Unreadable();
	}
	const codes = Array.from({ length: BEYOND[0] }, (_, code) => code);
	const found = codes.filter((code) => known.test(String.fromCharCode(code)));
	return [...found.map((code) => [code, code] as const), BEYOND];
}

/** A member of a character class: one character, or a class escape. */
interface Member {
	ranges: Ranges;
	/** Undefined for a class escape. */
	code: number | undefined;
	/** Whether `ranges` is only an upper bound. */
	isInexact: boolean;
}

/** The tree; `undefined` for an expression that is not supported. */
export function readExpression(source: string): Expression | undefined {
	if (source.length > MAX_LENGTH) return undefined;
	try {
		return new ExpressionReader(source).read();
	} catch (cause) {
		if (cause instanceof Unreadable) return undefined;
		throw cause;
	}
}

class Unreadable extends Error {}

class ExpressionReader {
	readonly #signs: string[];
	#at = 0;
	#depth = 0;

	constructor(source: string) {
		this.#signs = Array.from(source);
	}

	read(): Expression {
		const expression = this.#choice();
		if (this.#at < this.#signs.length) throw new Unreadable();
		return expression;
	}

	#peek(): string | undefined {
		return this.#signs[this.#at];
	}

	#next(): string {
		const sign = this.#signs[this.#at++];
		if (sign === undefined) throw new Unreadable();
		return sign;
	}

	/** Skips the text that the pattern matches at this position. */
	#skip(pattern: RegExp): RegExpExecArray | null {
		const found = pattern.exec(this.#signs.slice(this.#at, this.#at + 64).join(""));
		this.#at += found ? Array.from(found[0]).length : 0;
		return found;
	}

	#choice(): Expression {
		if (++this.#depth > MAX_DEPTH) throw new Unreadable();
		const first = this.#sequence();
		const options = [first];
		while (this.#skip(/^\|/)) options.push(this.#sequence());
		this.#depth--;
		return options.length === 1 ? first : { kind: "choice", options };
	}

	#sequence(): Expression {
		const parts: Expression[] = [];
		for (let sign = this.#peek(); sign !== undefined && sign !== "|" && sign !== ")"; sign = this.#peek())
			parts.push(this.#counted());
		return { kind: "sequence", parts };
	}

	#counted(): Expression {
		const part = this.#atom();
		const count = this.#skip(/^(?:([*+?])|\{(\d{1,9})(?:(,)(\d{1,9})?)?\})\??/);
		if (!count) return part;
		const [, sign, least = "0", comma, most] = count;
		const max = most === undefined ? Number.POSITIVE_INFINITY : Number(most);
		if (sign === undefined)
			return { kind: "repeat", part, min: Number(least), max: comma === undefined ? Number(least) : max };
		return { kind: "repeat", part, min: sign === "+" ? 1 : 0, max: sign === "?" ? 1 : max };
	}

	#atom(): Expression {
		const sign = this.#next();
		if (sign === "^" || sign === "$") return { kind: "assertion", sign };
		if (sign === ".") return { kind: "character", ranges: complement(LINE_ENDS), pick: "a" };
		if (sign === "[") return this.#class();
		if (sign === "(") {
			if (!this.#skip(/^\?(?::|<[\p{ID_Start}$_][\p{ID_Continue}$]*>)/u) && this.#peek() === "?")
				throw new Unreadable();
			const inner = this.#choice();
			if (this.#next() !== ")") throw new Unreadable();
			return inner;
		}
		if (sign === "\\") {
			const edge = this.#skip(/^[bB]/)?.[0];
			if (edge === "b" || edge === "B") return { kind: "assertion", sign: edge };
			const { ranges, isInexact, code } = this.#escaped();
			const pick = code === undefined ? plainest(ranges) : String.fromCodePoint(code);
			return { kind: "character", ranges, pick: isInexact ? undefined : pick };
		}
		const code = sign.codePointAt(0) ?? 0;
		return { kind: "character", ranges: [[code, code]], pick: sign };
	}

	#escaped(): Member {
		const sign = this.#next();
		const several = own(CLASSES, sign);
		if (several) return { ranges: several, code: undefined, isInexact: false };
		if (sign === "p" || sign === "P") {
			const [, property] = this.#skip(/^\{([\w=]{1,60})\}/) ?? [];
			if (property === undefined) throw new Unreadable();
			return { ranges: approximateProperty(`\\${sign}{${property}}`), code: undefined, isInexact: true };
		}
		if (/[1-9k]/.test(sign)) throw new Unreadable();
		const code = this.#coded(sign) ?? (own(CONTROLS, sign) ?? sign).codePointAt(0) ?? 0;
		return { ranges: [[code, code]], code, isInexact: false };
	}

	/** The code point of `\x41`, `\u0041`, `\u{41}`, `\ud83d\ude00` and `\cA`. */
	#coded(sign: string): number | undefined {
		const forms: Record<string, RegExp> = {
			c: /^[A-Za-z]/,
			u: /^(?:(d[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|[\da-f]{4})|\{([\da-f]{1,6})\})/i,
			x: /^([\da-f]{2})/i,
		};
		const form = forms[sign];
		if (!form) return undefined;
		const found = this.#skip(form);
		if (!found) throw new Unreadable();
		const [letter, digits, braced] = found;
		if (sign === "c") return letter.charCodeAt(0) % 32;
		const [high = 0, low] = (digits ?? braced ?? "").split("\\u").map((part) => Number.parseInt(part, 16));
		return low === undefined ? high : String.fromCharCode(high, low).codePointAt(0);
	}

	#class(): Expression {
		const isNegated = this.#skip(/^\^/) !== null;
		const found: [number, number][] = [];
		let [isInexact, first]: [boolean, string | undefined] = [false, undefined];
		for (let sign = this.#next(); sign !== "]"; sign = this.#next()) {
			const member = this.#member(sign);
			const isRange = this.#peek() === "-" && this.#signs[this.#at + 1] !== "]";
			const last = isRange && this.#next() ? this.#member(this.#next()) : member;
			if (member.code === undefined || last.code === undefined) {
				if (isRange) throw new Unreadable();
				first ??= plainest(member.ranges);
				found.push(...member.ranges.map(([from, to]): [number, number] => [from, to]));
			} else {
				// The first member of a range is the character to write.
				first ??= String.fromCodePoint(member.code);
				found.push([member.code, last.code]);
			}
			isInexact ||= member.isInexact;
		}
		// Complemented twice, which merges overlapping members.
		const others = isNegated ? complement(found) : complement(complement(found));
		const ranges = isInexact && isNegated ? [...others, BEYOND] : others;
		return { kind: "character", ranges, pick: isInexact ? undefined : isNegated ? plainest(ranges) : first };
	}

	#member(sign: string): Member {
		if (sign === "\\")
			return this.#skip(/^b/) ? { ranges: [[8, 8]], code: 8, isInexact: false } : this.#escaped();
		const code = sign.codePointAt(0) ?? 0;
		return { ranges: [[code, code]], code, isInexact: false };
	}
}
