/** What an instance takes as keywords, by its tokenizer. */
export const TOKENIZERS = {
	porter: "Words",
	trigram: "Parts of words (Chinese, Japanese, Thai)",
};

/** Of scripts without spaces between words. */
const UNSPACED = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]/u;

/** Whether keywords between spaces cannot find the words of a question. */
export const needsParts = (question: string): boolean => UNSPACED.test(question);
