/** Reads the rows of CSV (RFC 4180) with any of the usual separators. Rows whose fields are all empty are left out. */

export const SEPARATORS = [",", "\t", "|", ";", "\x1e", "\x1f"] as const;

/** Rows by which the separator is detected. */
const SAMPLE = 10;

type Separator = (typeof SEPARATORS)[number];

export const readRows = (text: string): string[][] =>
	rowsOf(text, separatorOf(text)).filter((row) => !isEmpty(row));

const isEmpty = (row: readonly string[]): boolean => row.every((field) => field.trim() === "");

/** The separator with which the first rows have the most equal numbers of fields; of several such, the one with most fields. */
function separatorOf(text: string): Separator {
	let best: { separator: Separator; changes: number; fields: number } | undefined;
	for (const separator of SEPARATORS) {
		const sample = rowsOf(text, separator, SAMPLE).filter((row) => !isEmpty(row));
		const counts = sample.map(({ length }) => length);
		const fields = counts.reduce((sum, count) => sum + count, 0) / counts.length;
		const changes = counts.reduce((sum, count, i) => sum + Math.abs(count - (counts[i - 1] ?? count)), 0);
		if (!(fields >= 2)) continue;
		if (!best || changes < best.changes || (changes === best.changes && fields > best.fields))
			best = { separator, changes, fields };
	}
	return best?.separator ?? ",";
}

function rowsOf(text: string, separator: Separator, limit = Number.POSITIVE_INFINITY): string[][] {
	const end = new RegExp(`[\\r\\n${separator}]`, "g");
	const rows: string[][] = [];
	let row: string[] = [];
	for (let at = 0; rows.length < limit && (at < text.length || row.length > 0); ) {
		const field = text[at] === '"' ? quoted(text, at, separator) : unquoted(text, at, end);
		row.push(field.value);
		at = field.end + (text.startsWith("\r\n", field.end) ? 2 : 1);
		if (text[field.end] === separator) continue;
		rows.push(row);
		row = [];
	}
	return rows;
}

interface Field {
	value: string;
	/** The position behind it: of a separator, a line break, or the end. */
	end: number;
}

function unquoted(text: string, start: number, separators: RegExp): Field {
	separators.lastIndex = start;
	const end = separators.exec(text)?.index ?? text.length;
	return { value: text.slice(start, end), end };
}

/** A quote inside that is not doubled is text, unless the field ends behind it. */
function quoted(text: string, start: number, separator: Separator): Field {
	let quote = text.indexOf('"', start + 1);
	while (quote !== -1) {
		let end = quote + 1;
		while (text[end] === " ") end++;
		if (end === text.length || `\r\n${separator}`.includes(text[end] ?? ""))
			return { value: text.slice(start + 1, quote).replaceAll('""', '"'), end };
		quote = text.indexOf('"', text[quote + 1] === '"' ? quote + 2 : quote + 1);
	}
	return { value: text.slice(start + 1), end: text.length };
}
