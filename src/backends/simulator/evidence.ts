/**
 * What a text offers to fill a document with. Values that were given out are not given out again, so that the first of
 * two objects gets "Alice" and 30, the second "Bob" and 25. One instance serves one document.
 */
import { sentiment } from "./classification.ts";
import { expressionIn, operationsIn } from "./expression.ts";
import { type Hint, keyWords, kindOf } from "./kinds.ts";
import { labelled } from "./labels.ts";
import { after, enumeration, listIn, names, numbers, objectOf, quoted } from "./phrases.ts";
import { fold, legible, literally, term, terms, within, words } from "./text.ts";

/** What is read of one source. */
const MAX_SOURCE_CHARACTERS = 8_000;
/** How far from its property's name a number may stand. */
const NEAR_CHARACTERS = 30;
/** From here a lean of the words counts as an opinion. */
const OPINION = 0.5;

export interface Sources {
	/** What asks. Only this decides about what may be left out. */
	primary: string;
	/** Where else to look for what must be there, the likeliest first. */
	others: string[];
	/** Epoch milliseconds: what "tomorrow" is. */
	now: number;
}

export class Evidence {
	readonly now: number;
	readonly #primary: string;
	readonly #all: string[];
	/** What each source has for each property: members of a long array ask for the same again and again. */
	readonly #candidates = new Map<string, string[]>();
	/** The operands of each source's arithmetic, in its order: "subtract 17 from 42" has 42 first. */
	readonly #operands = new Map<string, number[]>();
	#used = new Set<string>();

	constructor({ primary, others, now }: Sources) {
		this.now = now;
		const read = (text: string) => within(legible(text), MAX_SOURCE_CHARACTERS);
		this.#primary = read(primary);
		this.#all = [this.#primary, ...others.map(read)];
	}

	/** What was given out so far, to go back to. */
	get used(): Set<string> {
		return new Set(this.#used);
	}

	restore(used: Set<string>): void {
		this.#used = new Set(used);
	}

	#sources(needed: boolean): string[] {
		return needed ? this.#all : [this.#primary];
	}

	/** A string for the property. `guess`: take any quotation or name rather than none. */
	text(hint: Hint, accept: (value: string) => boolean, needed: boolean, guess: boolean): string | undefined {
		for (const place of this.#sources(needed).keys()) {
			const mode = [place, needed, guess, hint.key, hint.about].join("\n");
			let candidates = this.#candidates.get(mode);
			if (!candidates) {
				candidates = candidatesIn(this.#all[place] ?? "", hint, { needed, guess, now: this.now });
				this.#candidates.set(mode, candidates);
			}
			const value = candidates.find((candidate) => !this.#used.has(candidate) && accept(candidate));
			if (value === undefined) continue;
			this.#used.add(value);
			return value;
		}
		return undefined;
	}

	/** The first free value that `find` sees in a source. */
	take(
		find: (source: string) => string[],
		accept: (value: string) => boolean,
		needed: boolean,
	): string | undefined {
		for (const source of this.#sources(needed)) {
			const value = find(source).find((candidate) => !this.#used.has(candidate) && accept(candidate));
			if (value === undefined) continue;
			this.#used.add(value);
			return value;
		}
		return undefined;
	}

	/** The number next to the property's name; for what is needed, else the next operand, else the first free one. */
	number(hint: Hint, accept: (value: number) => boolean, needed: boolean): number | undefined {
		const wanted = new Set([
			...keyTerms(hint),
			...UNIT_TERMS.filter((unit) => hint.about.includes(unit)).map(term),
		]);
		for (const [place, source] of this.#sources(needed).entries()) {
			const distance = distances(mentions(source, wanted));
			const free = numbers(source)
				.map((found) => ({ ...found, mark: `${place}@${found.index}`, distance: distance(found.index) }))
				.filter(({ number, mark }) => !this.#used.has(mark) && accept(number));
			const nearest = free
				.filter((found) => found.distance <= NEAR_CHARACTERS)
				.sort((a, b) => a.distance - b.distance)[0];
			const next = () => {
				const operand = this.#operandsOf(source).find((one) => free.some(({ number }) => number === one));
				return free.find(({ number }) => operand === undefined || number === operand);
			};
			const chosen = nearest ?? (needed || COUNTS.test(hint.key) ? next() : undefined);
			if (!chosen) continue;
			this.#used.add(chosen.mark);
			return chosen.number;
		}
		return undefined;
	}

	#operandsOf(source: string): number[] {
		let operands = this.#operands.get(source);
		if (!operands) {
			operands = numbers(expressionIn(source) ?? "").map(({ number }) => number);
			this.#operands.set(source, operands);
		}
		return operands;
	}

	/** Members of an enumeration that the text names, in the order in which it does. */
	mentioned(members: readonly unknown[], needed: boolean): unknown[] {
		for (const source of this.#sources(needed)) {
			const found = members
				.map((member) => ({ member, at: placeOf(source, String(member)) }))
				.filter(({ at }) => at >= 0)
				.sort((a, b) => a.at - b.at);
			if (found.length > 0) return found.map(({ member }) => member);
			const operations = operationsIn(source);
			const operation = members.filter((member) => operations.includes(fold(String(member))));
			if (operation.length > 0) return operation;
			// Members that lean both ways are a scale of opinions: the text's own lean chooses.
			const leans = members.map((member) => Math.sign(sentiment(String(member))));
			const opinion = leans.includes(1) && leans.includes(-1) ? sentiment(source) : 0;
			const felt = members.filter(
				(_, index) => Math.abs(opinion) > OPINION && leans[index] === Math.sign(opinion),
			);
			if (felt.length > 0) return felt;
		}
		return [];
	}

	/** Whether the text wants the property; undefined where it does not speak of it. */
	truth(hint: Hint): boolean | undefined {
		const named = mentions(this.#primary, new Set(keyTerms(hint)));
		const at = named[0];
		if (at === undefined) return undefined;
		const before = this.#primary.slice(Math.max(0, at - 25), at);
		const behind = this.#primary.slice(at, at + 40);
		if (/\b(?:no|not|without|don['’]?t|disable|exclude|skip|never|except)\b[^.,;]*$/i.test(before))
			return false;
		return !/^[\p{L}_-]+\s*(?:is|=|:|to|should be)?\s*(?:false|no|off|disabled|not)\b/iu.test(behind);
	}

	/** Several strings for one property: an enumeration after its name, quotations, or names. */
	texts(hint: Hint, accept: (value: string) => boolean, needed: boolean): string[] {
		const kind = kindOf(hint, needed);
		for (const source of this.#sources(needed)) {
			const label = labelled(source, hint, true)[0];
			const found =
				label !== undefined ? enumeration(label) : (kind?.find(source, hint, this.now) ?? listed(source));
			const unique = [...new Set(found)].filter(accept);
			// A list without a name belongs to the first property that may have it.
			const mark = `list ${JSON.stringify(unique)}`;
			if (unique.length === 0 || (label === undefined && kind === undefined && this.#used.has(mark)))
				continue;
			this.#used.add(mark);
			return unique;
		}
		return [];
	}

	/** Every number of what asks, in order. */
	numbers(accept: (value: number) => boolean): number[] {
		return numbers(this.#primary)
			.map(({ number }) => number)
			.filter(accept);
	}
}

const listed = (source: string): string[] => {
	const marked = quoted(source).map(({ value }) => value);
	return marked.length > 0 ? marked : listIn(source);
};

/** Strings of a source for a property, the likeliest first. */
function candidatesIn(
	source: string,
	hint: Hint,
	{ needed, guess, now }: { needed: boolean; guess: boolean; now: number },
): string[] {
	const kind = kindOf(hint, needed);
	const found = [...labelled(source, hint), ...(kind?.find(source, hint, now) ?? [])];
	if (!needed || !guess) return found;
	if (kind) return [...found, ...(kind.guess?.(source) ?? [])];
	const phrases = [
		...quoted(source),
		...objectOf(source),
		...after(source, "about|for|of|in|with|to|on"),
		...names(source),
	];
	return [...found, ...phrases.map(({ value }) => value)];
}

/** "Add 3 apples" gives a quantity without naming it. */
const COUNTS =
	/^(?:quantity|qty|count|amount|copies|passengers|people|guests|adults|tickets|nights|top_?k|max_?results|num_?results|n)$/i;

const UNIT_TERMS = ["year", "day", "hour", "minute", "week", "month"];

/** What a property is called, beyond the words that every property may have. */
const GENERIC = new Set(
	terms("is has include enable use should with value number count get set max min total list name type"),
);
const keyTerms = ({ key }: Hint): string[] => {
	const all = keyWords(key).map(term);
	const telling = all.filter((word) => !GENERIC.has(word));
	return telling.length > 0 ? telling : all;
};

/** Where the text has one of the terms. */
function mentions(source: string, wanted: Set<string>): number[] {
	return Array.from(source.matchAll(/[\p{L}\p{M}]+/gu))
		.filter(([word]) => wanted.has(term(word)))
		.map(({ index }) => index);
}

/** How far a place is from the nearest of these; asked for rising places only. */
function distances(rising: number[]): (index: number) => number {
	let passed = 0;
	return (index) => {
		while ((rising[passed] ?? Number.POSITIVE_INFINITY) < index) passed++;
		const [before = Number.NEGATIVE_INFINITY, behind = Number.POSITIVE_INFINITY] = [
			rising[passed - 1],
			rising[passed],
		];
		return Math.min(index - before, behind - index);
	};
}

/** Where the text has the words of an enumeration's member, whatever joins them; -1 where it does not. */
function placeOf(source: string, member: string): number {
	const parts = words(member.replace(/[_-]/g, " "));
	if (parts.length === 0) {
		// A sign, such as "+".
		return member.trim() === "" ? -1 : source.indexOf(member);
	}
	if (/[^\p{ASCII}]/u.test(member)) return fold(source).indexOf(fold(member));
	const pattern = new RegExp(
		String.raw`(?<![\p{L}\p{N}])${parts.map((part) => literally(part)).join(String.raw`[\s_-]*`)}(?:s|es|ed|d|ing|ly)?(?![\p{L}\p{N}])`,
		"iu",
	);
	// One letter says something only as a capital: the "a" of a sentence is no grade.
	if (member.length === 1 && /[a-z]/i.test(member))
		return source.search(
			new RegExp(String.raw`(?<![\p{L}\p{N}'’])${member.toUpperCase()}(?![\p{L}\p{N}'’])`, "u"),
		);
	return source.search(pattern);
}
