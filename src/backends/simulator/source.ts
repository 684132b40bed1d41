/** A text that values are looked for in, and what was found there: one property after the other asks for the same. */
import { sentiment } from "./classification.ts";
import { expressionIn, operationsIn } from "./expression.ts";
import type { Hint, Kind } from "./kinds.ts";
import { after, type NumberPhrase, names, numbers, objectOf, quoted } from "./phrases.ts";
import { fold, legible, literally, term, within, words } from "./text.ts";

/** What is read of it. */
const MAX_CHARACTERS = 8_000;
/** Longer members of enumerations are looked for letter by letter. */
const MAX_MEMBER_CHARACTERS = 200;

const WORD_BEGINS = /(?<![\p{L}\p{N}])/uy;
const WORD_ENDS = /(?:s|es|ed|d|ing|ly)?(?![\p{L}\p{N}])/iuy;
const LETTER_BEGINS = /(?<![\p{L}\p{N}'’])/uy;
const LETTER_ENDS = /(?![\p{L}\p{N}'’])/uy;

export class Source {
	readonly text: string;
	#numbers: NumberPhrase[] | undefined;
	#operands: number[] | undefined;
	#operations: string[] | undefined;
	#terms: { term: string; index: number }[] | undefined;
	#phrases: string[] | undefined;
	#lean: number | undefined;
	#lowered: string | undefined;
	#makers: { verb: string; name: string }[] | undefined;
	/** By what the description adds, for kinds that read it. */
	readonly #ofKinds = new Map<Kind, Map<string, string[]>>();

	constructor(text: string) {
		this.text = within(legible(text), MAX_CHARACTERS);
	}

	get numbers(): NumberPhrase[] {
		this.#numbers ??= numbers(this.text);
		return this.#numbers;
	}

	/** The operands of its arithmetic, each once, in its order: "subtract 17 from 42" has 42 first. */
	get operands(): number[] {
		this.#operands ??= [...new Set(numbers(expressionIn(this.text) ?? "").map(({ number }) => number))];
		return this.#operands;
	}

	/** What tools and enums call its arithmetic. */
	get operations(): string[] {
		this.#operations ??= operationsIn(this.text);
		return this.#operations;
	}

	/** Its sentiment: below 0 negative, above 0 positive. */
	get lean(): number {
		this.#lean ??= sentiment(this.text);
		return this.#lean;
	}

	/** Anything that may be a value, the likeliest first. */
	get phrases(): string[] {
		if (!this.#phrases) {
			const { text } = this;
			const found = [
				...quoted(text),
				...objectOf(text),
				...after(text, "about|for|of|in|with|to|on"),
				...names(text),
			];
			this.#phrases = [...new Set(found.map(({ value }) => value))];
		}
		return this.#phrases;
	}

	/** What is of the kind, the likeliest first. */
	ofKind(kind: Kind, hint: Hint, now: number): string[] {
		const byAbout = this.#ofKinds.get(kind) ?? new Map<string, string[]>();
		this.#ofKinds.set(kind, byAbout);
		const about = kind.readsAbout ? hint.about : "";
		const found = byAbout.get(about) ?? [...new Set(kind.find(this.text, hint, now))];
		byAbout.set(about, found);
		return found;
	}

	/** Where it has one of the terms. */
	mentions(wanted: Set<string>): number[] {
		this.#terms ??= Array.from(this.text.matchAll(/[\p{L}\p{M}]+/gu), ({ 0: word, index }) => ({
			term: term(word),
			index,
		}));
		return this.#terms.filter((found) => wanted.has(found.term)).map(({ index }) => index);
	}

	/** "directed by Lana", the verb as a term. */
	get makers(): { verb: string; name: string }[] {
		this.#makers ??= Array.from(
			this.text.matchAll(/(?<!\p{L})(\p{L}{1,20}) by ((?:\p{Lu}[\p{L}\p{M}.'’-]*\s?){1,4})/gu),
			([, verb = "", name = ""]) => ({ verb: term(verb), name }),
		);
		return this.#makers;
	}

	/** What a sticky expression finds behind each place that has the words, as its groups. */
	behind(parts: readonly string[], sticky: RegExp): (string | undefined)[][] {
		const found: (string | undefined)[][] = [];
		let from = 0;
		for (const { start, end } of this.#places(parts)) {
			const read = start >= from && matchAt(WORD_BEGINS, this.text, start) && matchAt(sticky, this.text, end);
			if (!read) continue;
			found.push(read.slice(1));
			from = end + read[0].length;
		}
		return found;
	}

	/** Where it has the words of an enumeration's member, whatever joins them; -1 where it does not. */
	placeOf(member: string): number {
		const { text } = this;
		const parts = member.length > MAX_MEMBER_CHARACTERS ? [] : words(member.replace(/[_-]/g, " "));
		// A sign, such as "+".
		if (parts.length === 0) return member.trim() === "" ? -1 : text.indexOf(member);
		if (/[^\p{ASCII}]/u.test(member)) return fold(text).indexOf(fold(member));
		// One letter says something only as a capital: the "a" of a sentence is no grade.
		const capital = /^[a-z]$/i.test(member) ? member.toUpperCase() : undefined;
		const [begins, ends] = capital ? [LETTER_BEGINS, LETTER_ENDS] : [WORD_BEGINS, WORD_ENDS];
		for (const { start, end } of this.#places(parts)) {
			const isWord = matchAt(begins, text, start) && matchAt(ends, text, end);
			if (isWord && (capital === undefined || text[start] === capital)) return start;
		}
		return -1;
	}

	/** Where it has the words, whatever joins them and whatever they are part of. */
	#places(parts: readonly string[]): { start: number; end: number }[] {
		this.#lowered ??= this.text.toLowerCase();
		const lowered = this.#lowered;
		if (!parts.every((part) => lowered.includes(part.toLowerCase()))) return [];
		const joined = new RegExp(parts.map(literally).join(String.raw`[\s_-]*`), "giu");
		return Array.from(this.text.matchAll(joined), ({ 0: found, index }) => ({
			start: index,
			end: index + found.length,
		}));
	}
}

function matchAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
	sticky.lastIndex = at;
	return sticky.exec(text);
}
