/**
 * Splits text of any script into words for comparison. Scripts without spaces (Han, Thai, …) are split by
 * `Intl.Segmenter`, all others by a pattern, which is many times faster.
 */

const WORD = /\p{N}+(?:[.,]\p{N}+)+|[\p{L}\p{M}\p{N}]+/gu;
const SPACELESS =
	/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const segmenter = new Intl.Segmenter("en", { granularity: "word" });

/** Lower case, without accents, punctuation left out. */
export function words(text: string): string[] {
	const plain = text
		.normalize("NFKD")
		.replace(/[\u0300-\u036f]/g, "")
		.normalize("NFC")
		.toLowerCase();
	const found = plain.match(WORD) ?? [];
	if (!SPACELESS.test(plain)) return found;
	return found.flatMap((word) =>
		SPACELESS.test(word)
			? Array.from(segmenter.segment(word))
					.filter(({ isWordLike }) => isWordLike)
					.map(({ segment }) => segment)
			: [word],
	);
}

const STOP_WORDS = new Set(
	"a an and are as at be by can could did do does for from had has have he her his how i if in into is it its me my of on or our she so than that the their them then there these they this those to us was we were what when where which who why will with would you your".split(
		" ",
	),
);

export const isStopWord = (word: string): boolean => STOP_WORDS.has(word);

/** "document" for "document" and "documents". */
export const singular = (word: string): string => (/[a-z]{3}[^s]s$/.test(word) ? word.slice(0, -1) : word);
