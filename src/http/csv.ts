/** CSV responses. */

/**
 * Matches a cell that a spreadsheet may run as a formula, because callers choose the names of aliases and models. Ids of
 * the catalogue begin with `@` and are excepted: `@cf/` or `@hf/`, and then only the characters of such ids.
 */
const FORMULA = /^(?:[=+\-\t\r\n]|@(?!(?:cf|hf)\/[\w./-]+$))/;

/** Cells that need quotes. */
const SPECIAL = /[",\r\n\ufeff]|^ | $/;

/** RFC 4180. */
export function csv(rows: readonly object[], columns: readonly string[], filename: string): Response {
	const lines = [
		columns.map(cell),
		...rows.map((row) => columns.map((column) => cell(Reflect.get(row, column)))),
	];
	return new Response(lines.map((line) => `${line.join(",")}\r\n`).join(""), {
		headers: {
			"content-type": "text/csv; charset=utf-8; header=present",
			"content-disposition": `attachment; filename="${filename}"`,
		},
	});
}

function cell(value: unknown): string {
	const text = String(value ?? "");
	if (typeof value === "string" && FORMULA.test(text)) return `"'${text.replaceAll('"', '""')}"`;
	return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
