/**
 * Words and sentences of any script. Scripts that write no spaces (Han, Thai, …) are cut by the runtime's own
 * `Intl.Segmenter`; all others by a pattern, which is many times faster. Stems are English and rough: they only
 * have to be the same on both sides of a comparison.
 */

const WORD = /\p{N}+(?:[.,]\p{N}+)+|[\p{L}\p{M}\p{N}]+/gu;
const SPACELESS = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`;
const SPACELESS_RUN = new RegExp(`[${SPACELESS}]`, "u");
const SPACELESS_CHARACTERS = new RegExp(`[${SPACELESS}]`, "gu");
/** What the runtime's segmenter costs a character, against one of a script with spaces. */
const SPACELESS_COST = 10;
const wordSegmenter = new Intl.Segmenter("en", { granularity: "word" });
const sentenceSegmenter = new Intl.Segmenter("en", { granularity: "sentence" });

/** The words of a text as they are written, punctuation left out. "don't" gives two. */
export function words(text: string): string[] {
	const found = text.match(WORD) ?? [];
	if (!SPACELESS_RUN.test(text)) return found;
	return found.flatMap((word) =>
		SPACELESS_RUN.test(word)
			? Array.from(wordSegmenter.segment(word))
					.filter((segment) => segment.isWordLike)
					.map((segment) => segment.segment)
			: [word],
	);
}

/** The sentences of a text, trimmed. A line ends one, unless the next line plainly goes on with it. */
export function sentences(text: string): string[] {
	const joined = text.replace(/(?<=[\p{L}\p{N},;])[ \t]*\r?\n[ \t]*(?=\p{Ll})/gu, " ");
	return Array.from(sentenceSegmenter.segment(joined), ({ segment }) => segment.trim()).filter((sentence) =>
		/[\p{L}\p{N}]/u.test(sentence),
	);
}

/** Lower case, without the accents of Latin letters. */
export const fold = (word: string): string =>
	/^[\x20-\x7e]*$/.test(word)
		? word.toLowerCase()
		: word
				.normalize("NFKD")
				.replace(/[\u0300-\u036f]/g, "")
				.normalize("NFC")
				.toLowerCase();

const SUFFIXES = /(?:ations?|ators?|ating|ated|ates?|ions?|ings?|ers?|ors?|ed|es|al|ly|e|s)$/;

/** What is left of a folded word without its ending; words that are not plain Latin stay. */
export function stem(folded: string): string {
	if (folded.length < 4 || !/^[a-z]+$/.test(folded)) return folded;
	// "colour" and "color" are one word.
	const american = folded.length > 4 ? folded.replace("our", "or") : folded;
	const singular = /(?:ss|us|is)$/.test(american)
		? american
		: american.replace(/ies$/, "y").replace(/s$/, "");
	const root = singular.replace(SUFFIXES, "");
	const kept = root.length >= 3 ? root : singular;
	return kept.replace(/([a-z])\1$/, "$1").replace(/i$/, "y");
}

// Words that say nothing about what is asked, question words among them, in the languages most often sent.
const STOP_WORDS = new Set(
	`a about after again all also am an and any are as at be been being but by can could did do does doing don else every
	for get give had has have having he her here hers him his how if in into is it its just kindly know let ll me more
	most much need no nor not now of off on once one only or other our out over own please re s same shall she should
	so some such t tell than that the their them then there these they this those to too under up upon us ve very want
	was we were what whats when where which while who whom whose why will with would yes d m
	el la los las un una unos unas de del y o que quien cual como cuando donde cuanto es son en por para con se al lo
	le les des du et ou est sont dans pour avec sur qui quoi quel quelle quels quelles comment quand combien qu l c j n
	der die das den dem ein eine einen einem einer und oder ist sind im am zu mit auf fur von wer was wie wo wann warum
	welche welcher welches wieviel il lo gli uno una e di che chi come dove quando perche sono per con
	的 了 是 吗 呢 吧 啊 什么 谁 哪 哪里 哪儿 怎么 怎样 为什么 几 多少 在 和 与 请 请问 一个 这 那 有 也 都
	は が を に の で と も か です ます 何 誰 どこ いつ なぜ
	ما هو هي من في على إلى هل كيف متى أين و`
		.split(/\s+/)
		.map(fold),
);

// Words a question and its answer often do not share. Each line is one meaning.
const MEANINGS = new Map(
	`age old year
	live reside home house dwell
	job work occupation profession career
	tall high height elevation
	cost price expensive charge
	found founded establish start begin began launch
	create invent make made author write wrote written built build
	big large size
	kind type sort
	buy purchase
	car vehicle auto
	movie film
	doctor physician
	photo picture image
	fast speed quick
	find search lookup
	weather forecast temperature rain sunny umbrella
	email mail
	clock time
	calculate compute arithmetic math calculator calculation sum`
		.split("\n")
		.flatMap((line) => {
			const [first = "", ...others] = line
				.trim()
				.split(" ")
				.map((word) => stem(fold(word)));
			return others.map((other): [string, string] => [other, first]);
		}),
);

/** A word as it is compared with others. */
export const term = (word: string): string => {
	const root = stem(fold(word));
	return MEANINGS.get(root) ?? root;
};

export const isStopWord = (word: string): boolean => STOP_WORDS.has(fold(word));

/** What words are about, as {@link term}s, without those that say nothing. */
export function termsOf(words: readonly string[]): string[] {
	const found: string[] = [];
	for (const word of words) if (!isStopWord(word)) found.push(term(word));
	return found;
}

/** What a text is about. */
export const terms = (text: string): string[] => termsOf(words(text));

/** The text as a part of a regular expression that matches it. */
export const literally = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

/** The work that reading a text is, in characters of a script with spaces. */
export const workOf = (text: string): number =>
	text.length + (SPACELESS_COST - 1) * (text.match(SPACELESS_CHARACTERS)?.length ?? 0);

/** White space in a row, as code is indented; what is longer ends a line, or parts two words. */
const MAX_BLANKS = 16;
const LONG_BLANKS = new RegExp(String.raw`\s{${MAX_BLANKS + 1},}`, "g");

/**
 * The text as it may be searched. Expressions go back and forth over white space; what they take for a run of it grows
 * with the square of its length.
 */
export const legible = (text: string): string =>
	text.replace(LONG_BLANKS, (blanks) => (blanks.includes("\n") ? "\n\n" : " "));

/** The last `limit` characters and the first few, where a question is asked before or after a long passage. */
export function within(text: string, limit: number): string {
	if (text.length <= limit) return text;
	const head = Math.floor(limit / 10);
	return `${text.slice(0, head)}\n${text.slice(text.length - (limit - head))}`;
}
