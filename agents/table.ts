/** Formats the results for a terminal. */

import type { ScenarioName } from "./client.ts";
import type { AgentName } from "./packages.ts";

export interface Result {
	outcome: "pass" | "fail" | "not supported";
	/** The reason, or the measured values. */
	note: string;
}

export interface Row extends Result {
	agent: AgentName;
	version: string;
	scenario: ScenarioName;
}

const NOTE_CHARACTERS = 100;

export function table(rows: readonly Row[]): string {
	const cells = rows.map(({ agent, note, outcome, scenario, version }) => [
		agent,
		version,
		scenario,
		outcome,
		(note.split("\n")[0] ?? "").slice(0, NOTE_CHARACTERS),
	]);
	const lines = [["agent", "version", "scenario", "result", ""], ...cells];
	const widths = (lines[0] ?? []).map((_, column) =>
		Math.max(...lines.map((line) => line[column]?.length ?? 0)),
	);
	const text = lines.map((line) =>
		line
			.map((cell, column) => cell.padEnd(widths[column] ?? 0))
			.join("  ")
			.trimEnd(),
	);
	const totals = (["pass", "fail", "not supported"] as const).map(
		(outcome) => `${rows.filter((row) => row.outcome === outcome).length} ${outcome}`,
	);
	return ["", ...text, "", totals.join(", ")].join("\n");
}
