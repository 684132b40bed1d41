/** CSV responses. */

/**
 * Matches a cell that a spreadsheet may run as a formula, because callers choose the names of aliases and models. Ids of
 * the catalogue begin with `@` and are excepted: `@cf/` or `@hf/`, and then only the characters of such ids.
 */
const FORMULA = /^(?:[=+\-\t\r\n]|@(?!(?:cf|hf)\/[\w./-]+$))/;

/** RFC 4180. */
export async function csv(
	rows: readonly object[],
	columns: readonly string[],
	filename: string,
): Promise<Response> {
	const { default: Papa } = await import("papaparse");
	const text = Papa.unparse([...rows], { columns: [...columns], escapeFormulae: FORMULA });
	const lines = rows.length > 0 ? text : columns.join(",");
	return new Response(`${lines}\r\n`, {
		headers: {
			"content-type": "text/csv; charset=utf-8; header=present",
			"content-disposition": `attachment; filename="${filename}"`,
		},
	});
}
