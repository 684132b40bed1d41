/**
 * Repetitions in the content of OpenDocument files. A few bytes can ask for billions of cells or spaces, and the parsers write all of
 * them, so they are bounded in the text of the XML.
 * https://docs.oasis-open.org/office/OpenDocument/v1.4/
 */
import { decodeUtf8 } from "../../media/utf8.ts";
import { ConversionFailure } from "./work.ts";

/** A longer repetition fills a sheet to its border, and has no content that a reader needs. */
const MAX_REPEATED = 1_000;
const MAX_SPACES = 100;
const MAX_CELLS = 1_000_000;

const REPEATED = /(table:number-(?:columns|rows)-repeated=["'])(\d+)/g;
const SPACES = /(text:c=["'])(\d+)/g;
const TABLE_TAG = /<table:(?:table-row|(?:covered-)?table-cell)\b[^>]*>/g;

const bounded = (text: string, pattern: RegExp, most: number, otherwise: number): string =>
	text.replace(
		pattern,
		(_, attribute: string, count: string) => `${attribute}${Number(count) <= most ? count : otherwise}`,
	);

const repetitions = (tag: string, name: "columns" | "rows"): number =>
	Number(new RegExp(`table:number-${name}-repeated=["'](\\d+)`).exec(tag)?.[1] ?? 1);

/** Bounds `content.xml` of a spreadsheet. Throws a `ConversionFailure` if it has too many cells. */
export function boundedCells(content: Uint8Array): Uint8Array {
	const text = bounded(decodeUtf8(content), REPEATED, MAX_REPEATED, 1);
	let cells = 0;
	let rows = 1;
	for (const [tag] of text.matchAll(TABLE_TAG)) {
		if (tag.startsWith("<table:table-row")) rows = repetitions(tag, "rows");
		else cells += rows * repetitions(tag, "columns");
		if (cells > MAX_CELLS) throw new ConversionFailure(`The file has more than ${MAX_CELLS} cells`);
	}
	return new TextEncoder().encode(text);
}

/** Bounds `content.xml` of a text document. */
export const boundedText = (content: Uint8Array): Uint8Array =>
	new TextEncoder().encode(
		bounded(bounded(decodeUtf8(content), SPACES, MAX_SPACES, MAX_SPACES), REPEATED, MAX_SPACES, 1),
	);
