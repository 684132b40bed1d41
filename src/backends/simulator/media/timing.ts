/**
 * The duration of words. Speech and transcription use the same rule, so that their times agree: a word takes 0.1 s
 * and 0.055 s a letter, a comma waits 0.15 s and the end of a sentence 0.35 s. English comes to about 150 words a
 * minute. In scripts that put no space between words each character is one.
 */
const WORD_SECONDS = 0.1;
const LETTER_SECONDS = 0.055;
const COMMA_SECONDS = 0.15;
const SENTENCE_SECONDS = 0.35;

const UNSPACED = String.raw`[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]`;
const WORD = new RegExp(String.raw`${UNSPACED}\p{M}*[\p{P}\p{S}]*|(?:(?!${UNSPACED})\S)+`, "gu");
const LETTER = /[\p{L}\p{N}]/gu;
const SENTENCE_END = /[.!?…。！？।؟]["'”’»)\]」』]*$/u;
const COMMA = /[,;:،、，；：]["'”’»)\]」』]*$/u;

export interface SpokenWord {
	/** As written, its punctuation included. */
	text: string;
	/** Its position in the text, in UTF-16 units. */
	from: number;
	to: number;
	/** The duration at normal speed. */
	seconds: number;
	/** The silence after it. */
	pause: number;
	endsSentence: boolean;
}

export function spokenWords(text: string): SpokenWord[] {
	return [...text.matchAll(WORD)].map(({ 0: word, index }) => {
		const letters = Math.max(1, word.match(LETTER)?.length ?? 0);
		const endsSentence = SENTENCE_END.test(word);
		return {
			text: word,
			from: index,
			to: index + word.length,
			seconds: WORD_SECONDS + LETTER_SECONDS * letters,
			pause: endsSentence ? SENTENCE_SECONDS : COMMA.test(word) ? COMMA_SECONDS : 0,
			endsSentence,
		};
	});
}

export const secondsOf = (words: readonly SpokenWord[]): number =>
	words.reduce((sum, { seconds, pause }) => sum + seconds + pause, 0);

/** Times for consecutive words, scaled to a total of `duration` seconds. */
export function placeWords(
	words: readonly SpokenWord[],
	duration: number,
): (SpokenWord & { start: number; end: number })[] {
	const scale = duration / secondsOf(words);
	let clock = 0;
	return words.map((word) => {
		const start = clock;
		const end = start + word.seconds * scale;
		clock = end + word.pause * scale;
		return { ...word, start, end };
	});
}
