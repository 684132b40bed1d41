/**
 * Converts CSV to one GFM table, or to lines of fields with tabs. The separator (comma, semicolon, tab, `|`) is detected.
 * The first row is the header; it is padded to the widest row, because GFM shows no more columns than the header has.
 */
import Papa from "papaparse";
import { decodeText } from "./decode.ts";
import { escapeMarkdown } from "./escape.ts";
import type { KindConverter } from "./opened-file.ts";
import type { Work } from "./work.ts";

const LINE_BREAK = /\r\n|\r|\n/g;
/** Cells are cheaper than HTML elements: papaparse and a few string joins. */
const CELLS_PER_UNIT = 60;
/** Line breaks, and the separators that papaparse detects. */
const FIELD_ENDS = new Set([..."\r\n,\t|;", Papa.RECORD_SEP, Papa.UNIT_SEP].map((end) => end.charCodeAt(0)));

export const convertCsv: KindConverter = ({ bytes, sentType, format, work }) => {
	// A character is cheaper than in HTML.
	work.spendCharacters(bytes.length / 10);
	const rows = readRows(decodeText(bytes, sentType), work);
	return format === "markdown" ? markdownTable(rows) : rows.map(textLine).join("");
};

export function markdownTable(rows: string[][]): string {
	const columns = rows.reduce((most, { length }) => Math.max(most, length), 0);
	const [header, ...body] = rows;
	if (!header || columns === 0) return "";
	const filled = Array.from({ length: columns }, (_, i) => header[i] ?? "");
	return `${tableRow(filled)}${`|${" --- |".repeat(columns)}\n`}${body.map(tableRow).join("")}`;
}

export const textLine = (row: string[]): string =>
	`${row.map((field) => field.replace(/\s+/g, " ").trim()).join("\t")}\n`;

function readRows(text: string, work: Work): string[][] {
	// Spent before the parser runs: millions of empty rows take seconds.
	work.spend(countCells(text) / CELLS_PER_UNIT);
	return Papa.parse<string[]>(text, { skipEmptyLines: "greedy" }).data;
}

/** An upper bound: counts every character that may end a field, also inside quotes. */
function countCells(text: string): number {
	let cells = 1;
	for (let at = 0; at < text.length; at++) if (FIELD_ENDS.has(text.charCodeAt(at))) cells++;
	return cells;
}

const tableRow = (fields: string[]): string =>
	`|${fields.map((field) => ` ${escapeMarkdown(field.trim()).replace(LINE_BREAK, "<br>")} |`).join("")}\n`;
