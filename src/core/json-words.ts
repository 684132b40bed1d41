/** Words without quotes in the place of a value. */
import { own } from "./own.ts";

/** Those of JSON. */
export const LITERALS: ReadonlySet<string> = new Set(["true", "false", "null"]);

/** With the value that each stands for. */
const WORDS: Readonly<Record<string, string>> = {
	true: "true",
	True: "true",
	false: "false",
	False: "false",
	null: "null",
	None: "null",
	undefined: "null",
	NaN: "null",
	Infinity: "null",
};
/** A text that needs no quotes to be recognised. */
const PLAIN_WORD = /^[\p{L}_$][\p{L}\p{N}_$ .@-]*$/u;

/** The JSON of the value. A word without a meaning is a text. `undefined`: it is no word. */
export function valueOfWord(word: string): string | undefined {
	return own(WORDS, word) ?? (PLAIN_WORD.test(word) ? JSON.stringify(word) : undefined);
}
