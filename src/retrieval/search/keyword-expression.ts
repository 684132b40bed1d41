/**
 * Makes an expression of FTS5 (sqlite.org/fts5.html, section 3) of the text of a user. Each word is a quoted string without quotes inside,
 * so that no part of the text is syntax.
 */
import type { InstanceConfig } from "./records.ts";

type Tokenizer = InstanceConfig["indexing_options"]["keyword_tokenizer"];
type Mode = InstanceConfig["retrieval_options"]["keyword_match_mode"];

/** The tokenizer finds nothing shorter. */
const TRIGRAM_CHARACTERS = 3;
const MAX_TERMS = 64;
const MAX_TERM_CHARACTERS = 200;

/** `undefined`: the text has no word that can be found. */
export function keywordExpression(text: string, mode: Mode, tokenizer: Tokenizer): string | undefined {
	const words = text.toWellFormed().match(/[\p{L}\p{N}\p{M}\p{Co}_]+/gu) ?? [];
	const terms = [...new Set(words.map((word) => word.slice(0, MAX_TERM_CHARACTERS).toWellFormed()))]
		.filter((term) => tokenizer === "porter" || [...term].length >= TRIGRAM_CHARACTERS)
		.slice(0, MAX_TERMS);
	return terms.length === 0 ? undefined : terms.map((term) => `"${term}"`).join(` ${mode.toUpperCase()} `);
}
