/** The results as a table for a terminal, and for the documentation. */

export interface Result {
	scenario: string;
	outcome: "pass" | "fail" | "not supported";
	/** The reason, or what was observed. */
	note: string;
}

export interface Row {
	/** The name of its file. */
	name: string;
	title: string;
	version: string;
	/** Of the version's publication. */
	date: string;
	results: readonly Result[];
}

const CELLS = { pass: "pass", fail: "FAIL", "not supported": "–" } as const;

export function table(rows: readonly Row[], scenarios: readonly string[]): string {
	const lines = [
		["client", "version", "date", ...scenarios],
		...rows.map(({ date, name, results, version }) => [
			name,
			version,
			date,
			...scenarios.map((scenario) => {
				const result = results.find((one) => one.scenario === scenario);
				return result ? CELLS[result.outcome] : "";
			}),
		]),
	];
	const widths = (lines[0] ?? []).map((_, column) =>
		Math.max(...lines.map((line) => line[column]?.length ?? 0)),
	);
	const text = lines.map((line) =>
		line
			.map((cell, column) => cell.padEnd(widths[column] ?? 0))
			.join("  ")
			.trimEnd(),
	);
	const results = rows.flatMap((row) => row.results);
	const totals = (["pass", "fail", "not supported"] as const).map(
		(outcome) => `${results.filter((result) => result.outcome === outcome).length} ${outcome}`,
	);
	return ["", ...text, "", totals.join(", ")].join("\n");
}
