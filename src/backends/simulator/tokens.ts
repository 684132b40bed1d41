/**
 * The simulator's tokenizer: every model has the same one. A token is a word of up to seven letters with the space
 * before it (longer words are cut every seven), one character of a script without spaces, up to three digits, up to
 * four signs, or a run of white space. English comes out at about 1.25 tokens a word, as with real models.
 */
const PIECE =
	/ ?(?:[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{M}]{1,7}|\p{N}{1,3}|[^\s\p{L}\p{M}\p{N}]{1,4})|\s{1,8}/gu;

/** Pieces of a text; joined they are the text. */
export const tokenize = (text: string): string[] => text.match(PIECE) ?? [];

export const countTokens = (text: string): number => tokenize(text).length;
