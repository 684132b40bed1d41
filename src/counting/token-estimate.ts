/**
 * Estimates the number of tokens of a text without a vocabulary, which would be larger than the Worker. A tokenizer first
 * splits a text into runs (words, numbers, punctuation, white space), then splits each run by its vocabulary. This file
 * does the first step in one pass. For the second it adds a typical cost per kind of run, fitted to two real tokenizers on
 * prose, code, data and chats. docs/token-counts.md has the measured error.
 *
 * The result does not depend on where the text is cut into pieces.
 */
import { KINDS, kindOf } from "./character-kinds.ts";

const { lower, upper, farLower, farUpper, digit, space, newline, mark } = KINDS;

/** Kinds up to this one are Latin letters: a Latin word is one run of kind `lower`. All white space is one run of kind `space`. */
const LAST_LATIN = farUpper;
const NOTHING = -1;

/** Tokens per run, plus tokens per character after the first `beyond` characters. */
type Cost = readonly [run: number, character: number, beyond: number];
const perCharacter = (tokens: number): Cost => [0, tokens, 0];

const COSTS: Partial<Record<number, Cost>> = {
	[KINDS.other]: perCharacter(0.9),
	[KINDS.greek]: [1.24, 0.3, 2],
	[KINDS.cyrillic]: [1.88, 0, 0],
	[KINDS.hebrew]: [1.38, 0.94, 2],
	[KINDS.arabic]: [1.21, 0.26, 2],
	[KINDS.han]: perCharacter(0.79),
	[KINDS.hiragana]: [1.05, 0.28, 0],
	[KINDS.katakana]: perCharacter(0.58),
	[KINDS.hangul]: [0.32, 0.66, 0],
	[KINDS.wideMark]: perCharacter(0.83),
	[KINDS.indic]: perCharacter(0.49),
	[KINDS.thai]: perCharacter(0.44),
	[KINDS.half]: perCharacter(1.1),
	[KINDS.symbol]: perCharacter(0.9),
};
/** Cost of a lower-case Latin word, by the kind of the run before it. */
const WORD_AFTER: Partial<Record<number, number>> = {
	[NOTHING]: 1.05,
	[space]: 1.05,
	[newline]: 1.19,
	[lower]: 1.39,
	[mark]: 1.09,
	// As in a hash: the letters between digits are short and form no word.
	[digit]: 2,
};
const LONG_WORD = { letter: 0.21, beyond: 9 };
/** A word with at least two capitals, such as `HTTP`. */
const CAPITALS = 1.6;
const ACCENTED_WORD = 2.2;
const FAR_WORD: Cost = [2.56, 0.15, 3];
/** Extra cost of long words in a language other than English, recognised when one word in ten has an accent. */
const FOREIGN_WORD = { letter: 0.7, beyond: 8, accentedShare: 0.1 };
const DIGITS = { tokens: 1.05, perGroup: 3 };
const SPACES = 1.13;
const LINE_END = { one: 0.82, several: 2 };
const INDENT = { one: 0.73, several: 0.94 };
const ONE_MARK = 0.8;
const MARKS = 1.3;
/** Several marks before a word: the last one joins the word, as in `("name`. */
const MARKS_BEFORE_WORD = 1.44;

/** Estimates the tokens of a text that arrives in pieces. */
export class TokenCount {
	/** Tokens of the finished runs, without the extra cost that depends on the language. */
	#tokens = 0;
	#words = 0;
	#accentedWords = 0;
	/** Letters beyond `FOREIGN_WORD.beyond`, summed over the unaccented words. */
	#lastLetters = 0;

	/** The current run: its kind, its length, and the kind of the last character before it. */
	#run: number = NOTHING;
	#length = 0;
	#before: number = NOTHING;
	/** If the current run is a word: its capitals, and 1 for accents or 2 for `far` letters. */
	#capitals = 0;
	#accent = 0;
	/** If the current run is white space. */
	#hasNewline = false;
	#spacesAtEnd = 0;

	get tokens(): number {
		// The current run may be a word, which no other run has ended yet.
		const isWord = this.#run === lower;
		const words = this.#words + (isWord ? 1 : 0);
		const accentedWords = this.#accentedWords + (isWord && this.#accent > 0 ? 1 : 0);
		const lastLetters = this.#lastLetters + (isWord ? this.#foreignLetters() : 0);
		const accentedShare = words > 0 ? accentedWords / words : 0;
		const foreign = Math.min(1, accentedShare / FOREIGN_WORD.accentedShare);
		const tokens = this.#tokens + this.#cost(NOTHING) + lastLetters * FOREIGN_WORD.letter * foreign;
		return tokens > 0 ? Math.max(1, Math.round(tokens)) : 0;
	}

	add(text: string): void {
		let kind = NOTHING;
		let from = 0;
		for (let at = 0; at < text.length; at++) {
			const next = kindOf(text.charCodeAt(at));
			if (next === kind) continue;
			if (at > from && kind !== KINDS.attached) this.#take(kind, at - from);
			kind = next;
			from = at;
		}
		if (text.length > from && kind !== KINDS.attached) this.#take(kind, text.length - from);
	}

	/** Ends the text. The next `add` begins another one. */
	end(): void {
		this.#start(NOTHING);
		this.#before = NOTHING;
	}

	#take(kind: number, length: number): void {
		const isLatin = kind >= lower && kind <= LAST_LATIN;
		const run = isLatin ? lower : kind === newline ? space : kind;
		// Each part of a camelCase name is a word.
		const isHump = isLatin && isCapital(kind) && this.#length > this.#capitals;
		if (run !== this.#run || isHump) this.#start(run);
		this.#length += length;
		if (isLatin) {
			if (isCapital(kind)) this.#capitals += length;
			if (kind > upper) this.#accent = Math.max(this.#accent, kind >= farLower ? 2 : 1);
		} else if (kind === newline) {
			this.#hasNewline = true;
			this.#spacesAtEnd = 0;
		} else if (kind === space) this.#spacesAtEnd += length;
	}

	#start(next: number): void {
		this.#tokens += this.#cost(next);
		if (this.#run === lower) {
			this.#words++;
			if (this.#accent > 0) this.#accentedWords++;
			this.#lastLetters += this.#foreignLetters();
		}
		this.#before = this.#run === space && this.#spacesAtEnd === 0 ? newline : this.#run;
		this.#run = next;
		this.#length = 0;
		this.#capitals = 0;
		this.#accent = 0;
		this.#hasNewline = false;
		this.#spacesAtEnd = 0;
	}

	/** Of the current run, which is a word: the letters that may cost extra. */
	#foreignLetters(): number {
		return this.#accent === 0 && this.#capitals < 2 ? Math.max(0, this.#length - FOREIGN_WORD.beyond) : 0;
	}

	/** Cost of the current run if it ends here and `next` begins. */
	#cost(next: number): number {
		switch (this.#run) {
			case NOTHING:
				return 0;
			case lower:
				return this.#wordCost();
			case space:
				return this.#whiteCost(next);
			case digit:
				return Math.min(this.#length, DIGITS.tokens * Math.ceil(this.#length / DIGITS.perGroup));
			case mark:
				return this.#markCost(isAlphabet(next));
			default:
				return costOf(COSTS[this.#run] ?? perCharacter(1), this.#length);
		}
	}

	#wordCost(): number {
		if (this.#capitals >= 2) return CAPITALS;
		if (this.#accent === 2) return Math.min(this.#length + 1, costOf(FAR_WORD, this.#length));
		if (this.#accent === 1) return Math.min(this.#length + 1, ACCENTED_WORD);
		const tokens = Math.min(this.#length, WORD_AFTER[this.#before] ?? 1);
		return tokens + LONG_WORD.letter * Math.max(0, this.#length - LONG_WORD.beyond);
	}

	/** One space joins the word after it, and line ends join the mark before them. */
	#whiteCost(next: number): number {
		if (!this.#hasNewline) return this.#length > 1 ? SPACES : next === NOTHING ? 1 : 0;
		const lineEnd = this.#length > 1 ? LINE_END.several : LINE_END.one;
		const indent = this.#spacesAtEnd > 1 ? INDENT.several : this.#spacesAtEnd * INDENT.one;
		return (this.#before === mark ? 0 : lineEnd) + indent;
	}

	/** One mark joins the word after it (`.length`, `_id`), unless a space precedes it. */
	#markCost(isBeforeWord: boolean): number {
		const joins = isBeforeWord && this.#before !== space;
		if (this.#length === 1) return joins ? 0 : ONE_MARK;
		return joins ? MARKS_BEFORE_WORD : MARKS;
	}
}

/** The sum over several texts, each estimated separately. */
export function approximateTokens(texts: readonly string[]): number {
	const count = new TokenCount();
	for (const text of texts) {
		count.add(text);
		count.end();
	}
	return count.tokens;
}

const isCapital = (kind: number): boolean => (kind & 1) === 0;
const isAlphabet = (run: number): boolean => run === lower || run === KINDS.cyrillic || run === KINDS.greek;
const costOf = ([run, character, beyond]: Cost, length: number): number =>
	run + character * Math.max(0, length - beyond);

/** More than 100,000 tokens of prose. */
const MAX_COUNTED_CHARACTERS = 500_000;
/** Characters between two checks of the limit. Shorter slices represent a mixed text better. */
const SLICE_CHARACTERS = 4_096;
/** One slice of this many is counted where the length is not known in advance. */
const SLICES_PER_COUNT = 64;

/** Estimates the tokens of a text from slices of it at equal distances. */
class Sample {
	readonly #share: number;
	readonly #count = new TokenCount();
	/** Characters in the counted slices. */
	#counted = 0;
	/** Characters of the text. */
	#passed = 0;

	/** `share`: the part of the text that is counted, 0 to 1. */
	constructor(share: number) {
		this.#share = share;
	}

	/** The tokens of the counted slices. */
	get tokens(): number {
		return this.#count.tokens;
	}

	/** Extrapolates to a text of this length. */
	estimate(characters = this.#passed): number {
		const { tokens } = this;
		return this.#counted < characters ? Math.ceil(tokens * (characters / this.#counted)) : tokens;
	}

	/** Stops when the counted slices have more tokens than `limit`. */
	add(text: string, from = 0, limit = Number.POSITIVE_INFINITY): void {
		for (let at = from; at < text.length && this.tokens <= limit; at += SLICE_CHARACTERS) {
			const length = Math.min(SLICE_CHARACTERS, text.length - at);
			if (this.#counted <= this.#passed * this.#share) {
				this.#count.add(text.slice(at, at + length));
				this.#counted += length;
			}
			this.#passed += length;
		}
	}

	/** Ends the current text: its last word and the next one are separate. */
	end(): void {
		this.#count.end();
	}
}

/**
 * As `approximateTokens`, up to `limit` tokens and 500,000 characters. Above `limit` the count stops, and the remaining text is
 * extrapolated to at least `limit`. For longer texts only slices at equal distances are counted, so that the CPU time does not grow
 * with the length.
 */
export function boundedTokens(texts: readonly string[], limit: number): number {
	const characters = texts.reduce((sum, { length }) => sum + length, 0);
	const sample = new Sample(Math.min(1, MAX_COUNTED_CHARACTERS / characters));
	for (const text of texts) {
		sample.add(text, 0, limit);
		if (sample.tokens > limit) break;
		sample.end();
	}
	return sample.estimate(characters);
}

/** Counts texts that arrive in pieces. Exact, as `TokenCount`, for the first 500,000 characters. */
export class LongTokenCount {
	readonly #first = new TokenCount();
	#characters = 0;
	readonly #others = new Sample(1 / SLICES_PER_COUNT);

	get tokens(): number {
		return this.#first.tokens + this.#others.estimate();
	}

	add(text: string): void {
		const room = Math.max(0, MAX_COUNTED_CHARACTERS - this.#characters);
		this.#characters += text.length;
		if (room > 0) this.#first.add(text.length <= room ? text : text.slice(0, room));
		this.#others.add(text, room);
	}

	end(): void {
		this.#first.end();
		this.#others.end();
	}
}
