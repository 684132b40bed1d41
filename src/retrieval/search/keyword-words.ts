/**
 * The words of a query, as the index of keywords has them. Nothing in the text of a user is syntax.
 *
 * The tokenizer `porter` has the words between spaces and punctuation. `trigram` has all parts of three characters. Scripts without spaces
 * have no words between spaces: any three characters of such a text match, and also its words of two characters, which begin terms of the
 * index. Hangul is one of these scripts, because its words have endings.
 */
import type { InstanceConfig, KeywordWord } from "./records.ts";
import { UNSPACED } from "./unspaced-scripts.ts";

type Tokenizer = InstanceConfig["indexing_options"]["keyword_tokenizer"];

/** The characters of a term of the tokenizer `trigram`. */
const TRIGRAM_CHARACTERS = 3;
const MAX_WORDS = 64;
const MAX_WORD_CHARACTERS = 200;
/** Of all words of scripts without spaces. */
const MAX_PHRASES = 256;
const MAX_BEGINNINGS = 16;

const PARTS = new RegExp(String.raw`[${UNSPACED}\p{scx=Hang}]+|[^${UNSPACED}\p{scx=Hang}]+`, "gu");
const MATCHED_BY_PARTS = new RegExp(String.raw`^[${UNSPACED}\p{scx=Hang}]`, "u");

/** No words: the text has none that can be found. */
export function keywordWords(text: string, tokenizer: Tokenizer): KeywordWord[] {
	if (tokenizer === "porter") return wordsOf(text).map(spacedWord).slice(0, MAX_WORDS);
	const left: TermsLeft = { phrases: MAX_PHRASES, beginnings: MAX_BEGINNINGS };
	const passages = [...new Set(text.split(/\s+/u))];
	return passages.flatMap((passage) => trigramWords(passage, left)).slice(0, MAX_WORDS);
}

/** Each once. */
const wordsOf = (text: string): string[] => [
	...new Set(
		(text.toWellFormed().match(/[\p{L}\p{N}\p{M}\p{Co}_]+/gu) ?? []).map((word) =>
			word.slice(0, MAX_WORD_CHARACTERS).toWellFormed(),
		),
	),
];

const spacedWord = (word: string): KeywordWord => ({ phrases: [word], beginnings: [] });

/** How many the words that follow may have. Each word takes its own. */
interface TermsLeft {
	phrases: number;
	beginnings: number;
}

/** Of a text between spaces. Its sentences in scripts without spaces are one word, because no text has all parts of a question. */
function trigramWords(passage: string, left: TermsLeft): KeywordWord[] {
	const parts = wordsOf(passage).flatMap((word) => word.match(PARTS) ?? []);
	const spaced = parts
		.filter((part) => !MATCHED_BY_PARTS.test(part) && [...part].length >= TRIGRAM_CHARACTERS)
		.map(spacedWord);
	const unspaced = parts.filter((part) => MATCHED_BY_PARTS.test(part)).map(unspacedWord);
	const phrases = distinct(unspaced, "phrases").slice(0, left.phrases);
	const beginnings = distinct(unspaced, "beginnings").slice(0, left.beginnings);
	left.phrases -= phrases.length;
	left.beginnings -= beginnings.length;
	return phrases.length + beginnings.length > 0 ? [...spaced, { phrases, beginnings }] : spaced;
}

const distinct = (words: readonly KeywordWord[], field: keyof KeywordWord): string[] => [
	...new Set(words.flatMap((word) => word[field])),
];

const SEGMENTER = new Intl.Segmenter(undefined, { granularity: "word" });

function unspacedWord(text: string): KeywordWord {
	const characters = [...text];
	const phrases = characters
		.slice(TRIGRAM_CHARACTERS - 1)
		.map((_, at) => characters.slice(at, at + TRIGRAM_CHARACTERS).join(""));
	const segments = [...SEGMENTER.segment(text)].map(({ segment }) => segment);
	// A text that is shorter than a term has nothing else.
	const beginnings = phrases.length === 0 ? [text] : segments.filter((segment) => [...segment].length === 2);
	return { phrases, beginnings };
}
