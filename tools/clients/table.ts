/** The results as a table for a terminal, and for the documentation. */

export interface Result {
	scenario: string;
	outcome: "pass" | "fail" | "not supported";
	/** The reason, or what was observed. */
	note: string;
}

/** One scenario with one model. */
export interface Played {
	scenario: string;
	model: string;
	note: string;
	failure?: string;
}

/** A scenario passes if it passes with every model. `unsupported`: the reasons. */
export function resultsOf(
	scenarios: readonly string[],
	unsupported: Readonly<Record<string, string | undefined>>,
	played: readonly Played[],
): Result[] {
	return scenarios.map((scenario) => {
		const reason = unsupported[scenario];
		if (reason !== undefined) return { scenario, outcome: "not supported", note: reason };
		const mine = played.filter((one) => one.scenario === scenario);
		const failed = mine.filter(({ failure }) => failure !== undefined);
		if (failed.length > 0 || mine.length === 0) {
			const notes = failed.map(({ failure, model }) => `${model}: ${failure}`);
			return { scenario, outcome: "fail", note: notes.join("\n") || "it did not run" };
		}
		const notes = new Set(mine.map(({ note }) => note).filter((note) => note !== ""));
		return { scenario, outcome: "pass", note: [...notes].join("; ") };
	});
}

export interface Row {
	kind: "library" | "agent";
	/** The name of its file. */
	name: string;
	title: string;
	version: string;
	package: string;
	/** Of the version's publication. */
	date: string;
	models: readonly string[];
	results: readonly Result[];
	/** The results by model. */
	played: readonly Played[];
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
