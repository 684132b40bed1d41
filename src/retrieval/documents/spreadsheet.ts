/**
 * Converts spreadsheets to one GFM table for each sheet, under the sheet's name. Cells are written as a reader sees them: dates in ISO
 * form, formulas by their stored values. Empty rows and columns are left out. The first row is the header.
 *
 * The dimensions that a file declares are never used: a sheet of one cell may declare 17 billion.
 */
import { type CellObject, read, type WorkBook, type WorkSheet } from "@e965/xlsx";
import { closeContainer, ENCRYPTED, openContainer, type Parts, startsWith } from "./container.ts";
import { markdownTable, textLine } from "./csv-table.ts";
import { escapeMarkdown } from "./escape.ts";
import { boundedCells } from "./open-document.ts";
import type { KindConverter } from "./opened-file.ts";
import { ConversionFailure, type Work } from "./work.ts";

const ZIP_MAGIC = [0x50, 0x4b];
/** Cells are cheaper than elements of HTML. */
const CELLS_PER_UNIT = 30;
/** A cell has four tags. The parser makes an object for each cell. */
const TAGS_PER_UNIT = 20;
/** Binary formats have at least this many bytes for a cell. */
const BYTES_PER_CELL = 10;
/** The parts of XLSB, whatever they are called: a cell has about 15 bytes, and the parser needs 20 times as many. So 3 MB take about 60 MB. */
const BINARY_PART = /\.bin$/i;
const PART_BYTES_PER_UNIT = 75;
/** Parts that no sheet needs: pictures, macros, print settings, copies of values. */
const UNUSED_PART =
	/^(?:xl\/(?:media|drawings|embeddings|printerSettings|pivot)|Thumbnails|Pictures|preview|Data\/.*\.(?:jpe?g|png|tiff|pdf)$)|vbaProject\.bin$|\.jpg$/i;

export const convertSpreadsheet: KindConverter = ({ name, bytes, format, work }) => {
	const book = readBook(bytes, work);
	const isMarkdown = format === "markdown";
	const sheets = book.SheetNames.map((sheetName) => {
		const rows = rowsOf(book.Sheets[sheetName], work);
		const table = isMarkdown ? markdownTable(rows) : rows.map(textLine).join("");
		const title = isMarkdown ? `## ${escapeMarkdown(sheetName)}\n` : `${sheetName}\n`;
		return table === "" ? title : `${title}\n${table}`;
	});
	return [isMarkdown ? `# ${escapeMarkdown(name)}\n` : `${name}\n`, ...sheets].join("\n");
};

function readBook(bytes: Uint8Array, work: Work): WorkBook {
	if (!startsWith(bytes, ZIP_MAGIC)) return parse(bytes, work);
	const parts = openContainer(bytes, (part) => !UNUSED_PART.test(part), work, TAGS_PER_UNIT);
	for (const [part, { length }] of parts)
		if (BINARY_PART.test(part)) work.spend(length / PART_BYTES_PER_UNIT);
	return parse(closeContainer(withBoundedCells(parts)), work);
}

function withBoundedCells(parts: Parts): Parts {
	const content = parts.get("content.xml");
	if (content) parts.set("content.xml", boundedCells(content));
	return parts;
}

function parse(bytes: Uint8Array, work: Work): WorkBook {
	work.spend(bytes.length / BYTES_PER_CELL / CELLS_PER_UNIT);
	let book: WorkBook;
	try {
		book = read(bytes, {
			type: "array",
			dense: true,
			cellDates: true,
			UTC: true,
			cellHTML: false,
			cellFormula: false,
		});
	} catch (cause) {
		if (cause instanceof Error && /password|encrypt/i.test(cause.message))
			throw new ConversionFailure(ENCRYPTED);
		throw new ConversionFailure(DAMAGED, { cause });
	}
	// Each workbook has a sheet.
	if (book.SheetNames.length === 0) throw new ConversionFailure(DAMAGED);
	return book;
}

const DAMAGED = "The file is damaged, or is not a spreadsheet";

/** The texts of the rows and columns that have cells. */
function rowsOf(sheet: WorkSheet | undefined, work: Work): string[][] {
	const data: (CellObject | undefined)[][] = sheet?.["!data"] ?? [];
	const columns = new Set<number>();
	const rows: Map<number, string>[] = [];
	// Rows and columns may be far apart: `forEach` visits only those that exist.
	data.forEach((cells) => {
		const row = new Map<number, string>();
		cells?.forEach((cell, column) => {
			const text = cell === undefined ? "" : textOf(cell);
			if (text === "") return;
			row.set(column, text);
			columns.add(column);
		});
		if (row.size > 0) rows.push(row);
	});
	work.spend((rows.length * columns.size) / CELLS_PER_UNIT);
	const used = [...columns].sort((one, other) => one - other);
	return rows.map((row) => {
		work.spendCharacters([...row.values()].reduce((sum, text) => sum + text.length, 0));
		return used.map((column) => row.get(column) ?? "");
	});
}

/** The parser's types: `d` is a date, `e` an error such as `#REF!`. */
function textOf({ t, v, w }: CellObject): string {
	if (t === "z" || v === undefined || v === null) return "";
	if (v instanceof Date) return dateText(v, w);
	// Some formats store decimals with the errors of their arithmetic.
	const number = typeof v === "number" && (w === undefined || Number(w) === v);
	return number ? String(Number(v.toPrecision(EXACT_DIGITS))) : (w ?? String(v)).trim();
}

const EXACT_DIGITS = 15;

const MIDNIGHT = "T00:00:00.000Z";
/** Spreadsheets store a time without a date as a day before this one. */
const FIRST_YEAR = 1900;

function dateText(date: Date, shown = ""): string {
	if (Number.isNaN(date.getTime()) || date.getUTCFullYear() < FIRST_YEAR) return shown;
	const iso = date.toISOString();
	return iso.endsWith(MIDNIGHT)
		? iso.slice(0, -MIDNIGHT.length)
		: iso.replace(/\.000Z$/, "Z").replace(/Z$/, "");
}
