/** Text tables for a terminal. */

const GAP = "  ";

/** Columns as wide as their longest cell. Numbers are aligned right. The first row has the titles. */
export function table(titles: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
	const widths = titles.map((title, column) =>
		Math.max(title.length, ...rows.map((row) => String(row[column] ?? "").length)),
	);
	const lineOf = (row: readonly (string | number)[]): string =>
		widths
			.map((width, column) => {
				const cell = row[column] ?? "";
				return typeof cell === "number" ? String(cell).padStart(width) : cell.padEnd(width);
			})
			.join(GAP)
			.trimEnd();
	return [titles, ...rows].map(lineOf).join("\n");
}

export const printJson = (value: unknown): void => console.log(JSON.stringify(value, undefined, 2));
