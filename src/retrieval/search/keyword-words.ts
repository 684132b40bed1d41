/**
 * The words of a query, as the index of keywords has them. Nothing in the text of a user is syntax.
 *
 * The tokenizer `porter` has the words between spaces and punctuation. `trigram` has all parts of three characters. Scripts without spaces
 * have no words between spaces: any three characters of such a text match, and also its words of two characters, which begin terms of the
 * index. Hangul is one of these scripts, because its words have endings.
 */
import type { InstanceConfig, KeywordWord } from "./records.ts";

type Tokenizer = InstanceConfig["indexing_options"]["keyword_tokenizer"];

/** The characters of a term of the tokenizer `trigram`. */
const TRIGRAM_CHARACTERS = 3;
const MAX_WORDS = 64;
const MAX_WORD_CHARACTERS = 200;
/** Of all words of scripts without spaces. */
const MAX_PHRASES = 256;
const MAX_BEGINNINGS = 16;

const UNSPACED = String.raw`\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}`;
const UNSPACED_CHARACTER = new RegExp(`[${UNSPACED}]`, "u");
const PARTS = new RegExp(String.raw`[${UNSPACED}\p{scx=Hang}]+|[^${UNSPACED}\p{scx=Hang}]+`, "gu");
const MATCHED_BY_PARTS = new RegExp(String.raw`^[${UNSPACED}\p{scx=Hang}]`, "u");

/** No words: the text has none that can be found. */
export function keywordWords(text: string, tokenizer: Tokenizer): KeywordWord[] {
	const words = text.toWellFormed().match(/[\p{L}\p{N}\p{M}\p{Co}_]+/gu) ?? [];
	const parts = tokenizer === "porter" ? words : words.flatMap((word) => word.match(PARTS) ?? []);
	const distinct = new Set(parts.map((part) => part.slice(0, MAX_WORD_CHARACTERS).toWellFormed()));
	let [phrases, beginnings] = [MAX_PHRASES, MAX_BEGINNINGS];
	return [...distinct]
		.map((part): KeywordWord => {
			if (tokenizer === "porter") return { phrases: [part], beginnings: [] };
			if (!MATCHED_BY_PARTS.test(part))
				return { phrases: [...part].length < TRIGRAM_CHARACTERS ? [] : [part], beginnings: [] };
			const word = unspacedWord(part, { phrases, beginnings });
			phrases -= word.phrases.length;
			beginnings -= word.beginnings.length;
			return word;
		})
		.filter((word) => word.phrases.length > 0 || word.beginnings.length > 0)
		.slice(0, MAX_WORDS);
}

/** Whether the tokenizer `porter` has this text as one long word. */
export const needsTrigram = (text: string): boolean => UNSPACED_CHARACTER.test(text);

const SEGMENTER = new Intl.Segmenter(undefined, { granularity: "word" });

function unspacedWord(text: string, limits: { phrases: number; beginnings: number }): KeywordWord {
	const characters = [...text];
	const phrases = characters
		.slice(TRIGRAM_CHARACTERS - 1)
		.map((_, at) => characters.slice(at, at + TRIGRAM_CHARACTERS).join(""));
	const beginnings = [...SEGMENTER.segment(text)]
		.map(({ segment }) => segment)
		.filter((segment) => [...segment].length === 2);
	return {
		phrases: [...new Set(phrases)].slice(0, limits.phrases),
		// A text that is shorter than a term has nothing else.
		beginnings: (phrases.length === 0 ? [text] : [...new Set(beginnings)]).slice(0, limits.beginnings),
	};
}
