/** Writes the results as a Markdown table, with the versions of the software that was measured. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus } from "node:os";
import { join } from "node:path";
import { peerVersion } from "./peer.ts";
import type { Spread } from "./statistics.ts";

const { version: workerdVersion } = createRequire(import.meta.url)("workerd/package.json") as {
	version: string;
};

export interface Row {
	label: string;
	/** Median and quartiles of the runs. */
	measured: Spread;
	/** Empty: a count. */
	unit: "x" | "ms" | "KB" | "MB" | "";
	/** The floor measured against itself: the error of the method. */
	error?: Spread;
	/** The target: at most this value. */
	bar?: number;
	stretch?: number;
	/** Details, such as the absolute values behind a ratio. */
	note?: string;
}

const DIGITS = { x: 2, ms: 2, KB: 0, MB: 0, "": 3 } as const;

const shown = ({ median, low, high }: Spread, unit: Row["unit"]): string => {
	const [m, l, h] = [median, low, high].map((value) => value.toFixed(DIGITS[unit]));
	return low === high ? `${m}` : `${m} (${l} to ${h})`;
};

function verdict({ measured: { median }, bar, stretch }: Row): string {
	if (bar === undefined) return "";
	if (stretch !== undefined && median <= stretch) return "stretch";
	return median <= bar ? "met" : "**missed**";
}

const limit = (value: number | undefined, unit: Row["unit"]): string =>
	value === undefined ? "" : `${value} ${unit}`;

export const rowLine = (row: Row): string =>
	`${row.label}: ${shown(row.measured, row.unit)} ${row.unit} ${verdict(row)}${row.note ? ` (${row.note})` : ""}`;

export function document(rows: readonly Row[]): string {
	const lines = rows.map((row) =>
		[
			row.label,
			`${shown(row.measured, row.unit)} ${row.unit}`,
			row.error ? shown(row.error, row.unit) : "",
			limit(row.bar, row.unit),
			limit(row.stretch, row.unit),
			verdict(row),
			row.note ?? "",
		].join(" | "),
	);
	return `# Results

Median (quartiles) of the runs; *error* is the floor measured against itself in the same way.
${machine()}

| What | Measured | Error | Bar | Stretch | | Note |
| --- | --- | --- | --- | --- | --- | --- |
${lines.map((line) => `| ${line} |`).join("\n")}
`;
}

function machine(): string {
	const [cpu] = cpus();
	const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8")) as {
		version: string;
	};
	const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
	const peer = peerVersion();
	const when = new Date().toISOString().slice(0, 10);
	return `Ganglion ${version} (${commit}), workerd ${workerdVersion}, Node ${process.version}${peer ? `, @portkey-ai/gateway ${peer}` : ""}; ${cpus().length} cores, ${cpu?.model.trim()}; ${when}.`;
}
