/** Tables for spreadsheets. */

/**
 * What a spreadsheet might run: callers can name models. A model of the catalogue begins with `@` and is none of that,
 * as long as it has nothing but what such ids have.
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
