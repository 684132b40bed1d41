/**
 * Makes an expression of FTS5 (sqlite.org/fts5.html, section 3) of words. Each phrase is a quoted string without quotes inside, so that no
 * part of a text is syntax.
 */
import type { KeywordQuery } from "../records.ts";

/** Terms that stand for the beginnings of a query. */
const MAX_TERMS = 512;

/** `termsWith`: terms of the index that begin with a text, the most frequent ones first. `undefined`: no text can match. */
export function keywordExpression(
	{ mode, words }: Pick<KeywordQuery, "mode" | "words">,
	termsWith: (beginning: string, limit: number) => readonly string[],
): string | undefined {
	const beginnings = words.reduce((count, word) => count + word.beginnings.length, 0);
	const limit = Math.ceil(MAX_TERMS / Math.max(1, beginnings));
	const groups = words.map((word) => {
		const terms = word.beginnings.flatMap((beginning) => termsWith(beginning, limit));
		return [...new Set([...word.phrases, ...terms])];
	});
	if (mode === "and" && groups.some((group) => group.length === 0)) return undefined;
	const expressions = groups
		.filter((group) => group.length > 0)
		.map((group) => `(${group.map(quoted).join(" OR ")})`);
	return expressions.length === 0 ? undefined : expressions.join(` ${mode.toUpperCase()} `);
}

const quoted = (phrase: string): string => `"${phrase.replaceAll('"', '""')}"`;
