/** What an instance takes as keywords, by its tokenizer. */
export const TOKENIZERS = {
	porter: "Words",
	trigram: "Parts of words (Chinese, Japanese, Thai)",
};
