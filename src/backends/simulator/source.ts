/** A text that values are looked for in, and what was found there: one property after the other asks for the same. */
import { sentiment } from "./classification.ts";
import { expressionIn, operationsIn } from "./expression.ts";
import type { Hint, Kind } from "./kinds.ts";
import { after, type NumberPhrase, names, numbers, objectOf, quoted } from "./phrases.ts";
import { legible, term, within } from "./text.ts";

/** What is read of it. */
const MAX_CHARACTERS = 8_000;

export class Source {
	readonly text: string;
	#numbers: NumberPhrase[] | undefined;
	#operands: number[] | undefined;
	#operations: string[] | undefined;
	#terms: { term: string; index: number }[] | undefined;
	#phrases: string[] | undefined;
	#lean: number | undefined;
	#lowered: string | undefined;
	/** By what the description adds, for kinds that read it. */
	readonly #ofKinds = new Map<Kind, Map<string, string[]>>();

	constructor(text: string) {
		this.text = within(legible(text), MAX_CHARACTERS);
	}

	get numbers(): NumberPhrase[] {
		this.#numbers ??= numbers(this.text);
		return this.#numbers;
	}

	/** The operands of its arithmetic, in its order: "subtract 17 from 42" has 42 first. */
	get operands(): number[] {
		this.#operands ??= numbers(expressionIn(this.text) ?? "").map(({ number }) => number);
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

	/** Whether it has the letters somewhere, whatever their case. */
	has(letters: string): boolean {
		this.#lowered ??= this.text.toLowerCase();
		return this.#lowered.includes(letters.toLowerCase());
	}
}
