/**
 * What a text offers to fill a document with. Values that were given out are not given out again, so that the first of
 * two objects gets "Alice" and 30, the second "Bob" and 25. One instance serves one document.
 */
import { sentiment } from "./classification.ts";
import { type Effort, fullEffort } from "./effort.ts";
import { type Hint, keyWords, kindOf } from "./kinds.ts";
import { labelled } from "./labels.ts";
import { enumeration, listIn, quoted } from "./phrases.ts";
import { Source } from "./source.ts";
import { fold, term, terms } from "./text.ts";

/** How far from its property's name a number may stand. */
const NEAR_CHARACTERS = 30;
/** From here a lean of the words counts as an opinion. */
const OPINION = 0.5;

/** What looking into a text costs beside its length, in characters. */
const LOOK = 100;
/** Looking for one member of an enumeration is so many times as fast as reading. */
const MEMBER_SHARE = 8;

export interface Sources {
	/** What asks. Only this decides about what may be left out. */
	primary: string;
	/** Where else to look for what must be there, the likeliest first. Several documents may share them. */
	others: readonly Source[];
	/** Epoch milliseconds: what "tomorrow" is. */
	now: number;
	/** Shared by all documents of a reply. Without any left the texts have nothing. */
	effort?: Effort;
}

export class Evidence {
	readonly now: number;
	readonly effort: Effort;
	readonly #primary: Source;
	readonly #all: Source[];
	/** What each source has for each property: members of a long array ask for the same again and again. */
	readonly #candidates = new Map<string, string[]>();
	/** What was given out, in that order. */
	readonly #given: string[] = [];
	readonly #used = new Set<string>();

	constructor({ primary, others, now, effort = fullEffort() }: Sources) {
		this.now = now;
		this.effort = effort;
		this.#primary = new Source(primary);
		this.#all = [this.#primary, ...others];
	}

	/** How much was given out so far, to go back to. */
	get given(): number {
		return this.#given.length;
	}

	/** What was given out since. */
	since(given: number): string[] {
		return this.#given.slice(given);
	}

	/** Takes back what was given out since, and gives out `instead`. */
	restore(given: number, instead: readonly string[] = []): void {
		for (const taken of this.#given.splice(given)) this.#used.delete(taken);
		for (const mark of instead) this.#give(mark);
	}

	#give(mark: string): void {
		if (!this.#used.has(mark)) this.#given.push(mark);
		this.#used.add(mark);
	}

	/** The sources to read, as long as there is time. */
	*#sources(needed: boolean, members = 0): Generator<[place: number, source: Source]> {
		for (const [place, source] of (needed ? this.#all : [this.#primary]).entries())
			if (this.#affords(source, members)) yield [place, source];
	}

	/** `members` are looked for beside. */
	#affords({ text }: Source, members = 0): boolean {
		const characters = LOOK + text.length + members * (LOOK + Math.ceil(text.length / MEMBER_SHARE));
		if (characters > this.effort.characters) return false;
		this.effort.characters -= characters;
		return true;
	}

	/** A string for the property. `guess`: take any quotation or name rather than none. */
	text(hint: Hint, accept: (value: string) => boolean, needed: boolean, guess: boolean): string | undefined {
		for (const [place, source] of (needed ? this.#all : [this.#primary]).entries()) {
			const mode = [place, needed, guess, hint.key, hint.about].join("\n");
			let candidates = this.#candidates.get(mode);
			if (!candidates && this.#affords(source)) {
				candidates = candidatesIn(source, hint, { needed, guess, now: this.now });
				this.#candidates.set(mode, candidates);
			}
			const value = candidates?.find((candidate) => !this.#used.has(candidate) && accept(candidate));
			if (value === undefined) continue;
			this.#give(value);
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
		for (const [, { text }] of this.#sources(needed)) {
			const value = find(text).find((candidate) => !this.#used.has(candidate) && accept(candidate));
			if (value === undefined) continue;
			this.#give(value);
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
		for (const [place, source] of this.#sources(needed)) {
			const distance = distances(source.mentions(wanted));
			const markOf = (index: number) => `${place}@${index}`;
			const free = source.numbers.filter(({ index }) => !this.#used.has(markOf(index)));
			const fits = ({ number }: { number: number }) => accept(number);
			const nearest = free
				.map((found) => ({ ...found, distance: distance(found.index) }))
				.filter((found) => found.distance <= NEAR_CHARACTERS)
				.sort((a, b) => a.distance - b.distance)
				.find(fits);
			const next = () => {
				const left = new Set(free.map(({ number }) => number));
				const operand = source.operands.find((one) => left.has(one) && accept(one));
				return free.find(({ number }) => number === operand) ?? free.find(fits);
			};
			const chosen = nearest ?? (needed || COUNTS.test(hint.key) ? next() : undefined);
			if (!chosen) continue;
			this.#give(markOf(chosen.index));
			return chosen.number;
		}
		return undefined;
	}

	/** Members of an enumeration that the text names, in the order in which it does. */
	mentioned(members: readonly unknown[], needed: boolean): unknown[] {
		for (const [, source] of this.#sources(needed, members.length)) {
			const found = members
				.map((member) => ({ member, at: source.placeOf(String(member)) }))
				.filter(({ at }) => at >= 0)
				.sort((a, b) => a.at - b.at);
			if (found.length > 0) return found.map(({ member }) => member);
			const operation = members.filter((member) => source.operations.includes(fold(String(member))));
			if (operation.length > 0) return operation;
			// Members that lean both ways are a scale of opinions: the text's own lean chooses.
			const leans = members.map((member) => Math.sign(sentiment(String(member))));
			const opinion = leans.includes(1) && leans.includes(-1) ? source.lean : 0;
			const felt = members.filter(
				(_, index) => Math.abs(opinion) > OPINION && leans[index] === Math.sign(opinion),
			);
			if (felt.length > 0) return felt;
		}
		return [];
	}

	/** Whether the text wants the property; undefined where it does not speak of it. */
	truth(hint: Hint): boolean | undefined {
		if (!this.#affords(this.#primary)) return undefined;
		const { text } = this.#primary;
		const [at] = this.#primary.mentions(new Set(keyTerms(hint)));
		if (at === undefined) return undefined;
		const before = text.slice(Math.max(0, at - 25), at);
		const behind = text.slice(at, at + 40);
		if (/\b(?:no|not|without|don['’]?t|disable|exclude|skip|never|except)\b[^.,;]*$/i.test(before))
			return false;
		return !/^[\p{L}_-]+\s*(?:is|=|:|to|should be)?\s*(?:false|no|off|disabled|not)\b/iu.test(behind);
	}

	/** Several strings for one property: an enumeration after its name, quotations, or names. */
	texts(hint: Hint, accept: (value: string) => boolean, needed: boolean): string[] {
		const kind = kindOf(hint, needed);
		for (const [, source] of this.#sources(needed)) {
			const label = labelled(source, hint, true)[0];
			const found =
				label !== undefined
					? enumeration(label)
					: kind
						? source.ofKind(kind, hint, this.now)
						: listed(source.text);
			const unique = [...new Set(found)].filter(accept);
			// A list without a name belongs to the first property that may have it.
			const mark = `list ${JSON.stringify(unique)}`;
			if (unique.length === 0 || (label === undefined && kind === undefined && this.#used.has(mark)))
				continue;
			this.#give(mark);
			return unique;
		}
		return [];
	}

	/** The first numbers of what asks, in order. */
	numbers(accept: (value: number) => boolean, most: number): number[] {
		const found: number[] = [];
		if (!this.#affords(this.#primary)) return found;
		for (const { number } of this.#primary.numbers) {
			if (found.length >= most) break;
			if (accept(number)) found.push(number);
		}
		return found;
	}
}

const listed = (source: string): string[] => {
	const marked = quoted(source).map(({ value }) => value);
	return marked.length > 0 ? marked : listIn(source);
};

/** Strings of a source for a property, the likeliest first. */
function candidatesIn(
	source: Source,
	hint: Hint,
	{ needed, guess, now }: { needed: boolean; guess: boolean; now: number },
): string[] {
	const kind = kindOf(hint, needed);
	const found = [...labelled(source, hint), ...(kind ? source.ofKind(kind, hint, now) : [])];
	if (!needed || !guess) return found;
	return [...found, ...(kind ? (kind.guess?.(source.text) ?? []) : source.phrases)];
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
