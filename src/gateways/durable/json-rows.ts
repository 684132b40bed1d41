/** Rows of a statement that are the arrays in a JSON array. */

/**
 * The start of a statement that reads `json_rows`. An optional limit and the closing parenthesis follow. Each row is parsed once: without the
 * table, SQLite writes and parses its text again for each column, which takes four times as long.
 */
export const ROWS_OF_JSON =
	"WITH json_rows AS MATERIALIZED (SELECT jsonb(value) AS columns FROM json_each(?)";

/** The elements of a row. */
export const valuesOf = (columns: number): string =>
	Array.from({ length: columns }, (_, index) => `columns ->> ${index}`).join(", ");
