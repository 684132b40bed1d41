/** Writes the results into the documentation, between two comments of each page. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SCENARIO_NAMES } from "./agent/client.ts";
import { SCENARIOS } from "./library/client.ts";
import type { Row } from "./table.ts";

const PAGES = {
	library: { file: "docs/clients.md", scenarios: SCENARIOS },
	agent: { file: "docs/agents.md", scenarios: SCENARIO_NAMES },
} as const;
const BEGIN = "<!-- Begin of the results of `npm run clients`. -->";
const END = "<!-- End of the results. -->";
const CELLS = { pass: "●", fail: "fails", "not supported": "–" } as const;
/** A row: `| title | package, version, date | cells |`. */
const ROW_TITLE = /^\| (.*?) *\|/;

/** Clients that were not run keep their rows. */
export function updateDocs(rows: readonly Row[]): void {
	for (const kind of ["library", "agent"] as const) {
		const mine = rows.filter((row) => row.kind === kind);
		if (mine.length === 0) continue;
		const { file, scenarios } = PAGES[kind];
		const path = join(import.meta.dirname, "..", file);
		const page = readFileSync(path, "utf8");
		const [start, end] = [page.indexOf(BEGIN), page.indexOf(END)];
		if (start < 0 || end < start) throw new Error(`${file} has no place for the results`);
		const before = page.slice(start + BEGIN.length, end);
		const text = resultsTable(mine, before, scenarios);
		writeFileSync(path, `${page.slice(0, start)}${BEGIN}\n\n${text}\n\n${page.slice(end)}`);
	}
}

/** `before`: the table that it replaces. */
export function resultsTable(rows: readonly Row[], before: string, scenarios: readonly string[]): string {
	const lines = new Map<string, string>();
	for (const line of before.split("\n")) {
		const title = ROW_TITLE.exec(line)?.[1];
		if (title?.startsWith("`")) lines.set(title, compact(line));
	}
	for (const row of rows) {
		const title = `\`${row.title}\``;
		const cells = scenarios.map((scenario) => {
			const result = row.results.find((one) => one.scenario === scenario);
			return result ? CELLS[result.outcome] : "";
		});
		lines.set(title, `| ${[title, row.version, row.date, ...cells].join(" | ")} |`);
	}
	const head = ["Client", "Version", "Published", ...scenarios];
	return aligned([
		`| ${head.join(" | ")} |`,
		`| ${head.map(() => "-").join(" | ")} |`,
		...[...lines].sort(([a], [b]) => a.localeCompare(b)).map(([, line]) => line),
	]);
}

const compact = (line: string): string => line.replace(/ +\|/g, " |");

/** Pads the cells, as the formatter does. */
function aligned(lines: readonly string[]): string {
	const cells = lines.map((line) => line.slice(2, -2).split(" | "));
	const widths = (cells[0] ?? []).map((_, column) =>
		Math.max(...cells.map((row) => row[column]?.length ?? 0), 3),
	);
	return cells
		.map((row, place) =>
			row.map((cell, column) => cell.padEnd(widths[column] ?? 0, place === 1 ? "-" : " ")).join(" | "),
		)
		.map((text) => `| ${text} |`)
		.join("\n");
}
