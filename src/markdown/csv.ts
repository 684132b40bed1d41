/**
 * CSV as one GFM table: its first row is the header, whatever separates its fields (comma, semicolon, tab, `|`). A
 * header shorter than the widest row gets empty cells, because GFM shows no more columns than a header has.
 */
import Papa from "papaparse";
import { escapeMarkdown } from "./escape.ts";
import type { Work } from "./work.ts";

const LINE_BREAK = /\r\n|\r|\n/g;
/** Rows of fields are cheaper than elements: papaparse and a few string joins. */
const CELLS_PER_UNIT = 60;
/** Line breaks, and the separators that papaparse looks for. */
const ENDS_OF_FIELDS = new Set(
	[..."\r\n,\t|;", Papa.RECORD_SEP, Papa.UNIT_SEP].map((end) => end.charCodeAt(0)),
);

export function csvToMarkdown(text: string, work: Work): string {
	const rows = readRows(text, work);
	const columns = widest(rows);
	const [header, ...body] = rows;
	if (!header || columns === 0) return "";
	const filled = Array.from({ length: columns }, (_, i) => header[i] ?? "");
	return `${tableRow(filled)}${`|${" --- |".repeat(columns)}\n`}${body.map(tableRow).join("")}`;
}

/** The same without the table: tabs between fields. */
export const csvToText = (text: string, work: Work): string =>
	readRows(text, work)
		.map((row) => `${row.map((field) => field.replace(/\s+/g, " ").trim()).join("\t")}\n`)
		.join("");

function readRows(text: string, work: Work): string[][] {
	// Before the parser builds them: millions of empty rows take seconds.
	work.spend(countCells(text) / CELLS_PER_UNIT);
	return Papa.parse<string[]>(text, { skipEmptyLines: "greedy" }).data;
}

/** At least as many as there are: every character that may end a field, also inside quotes. */
function countCells(text: string): number {
	let cells = 1;
	for (let at = 0; at < text.length; at++) if (ENDS_OF_FIELDS.has(text.charCodeAt(at))) cells++;
	return cells;
}

const widest = (rows: string[][]): number => rows.reduce((most, { length }) => Math.max(most, length), 0);

const tableRow = (fields: string[]): string =>
	`|${fields.map((field) => ` ${escapeMarkdown(field.trim()).replace(LINE_BREAK, "<br>")} |`).join("")}\n`;
