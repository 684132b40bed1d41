/** Scripts without spaces between words. The console has the same test, so this file imports nothing. */

/** The characters of a class of a regular expression. */
export const UNSPACED = String.raw`\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}`;

const UNSPACED_CHARACTER = new RegExp(`[${UNSPACED}]`, "u");

/** Whether the tokenizer `porter` has this text as one long word. */
export const needsTrigram = (text: string): boolean => UNSPACED_CHARACTER.test(text);
