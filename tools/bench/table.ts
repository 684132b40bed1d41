/** Writes the results as a Markdown table, with the versions of the software that was measured. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus } from "node:os";
import { join } from "node:path";
import { peerVersion } from "./peer.ts";
import { type Spread, spread } from "./statistics.ts";

const { version: workerdVersion } = createRequire(import.meta.url)("workerd/package.json") as {
	version: string;
};

export interface Row {
	label: string;
	/** Median and quartiles of the rounds. */
	measured: Spread;
	/** Empty: a count. */
	unit: "x" | "ms" | "KB" | "MB" | "";
	/** The floor measured against itself: the error of the method. */
	error?: Spread;
	/** The target: at most this value. */
	bar?: number;
	stretch?: number;
	/** The targets are at least these values. */
	isMoreBetter?: boolean;
	/** Details, such as the absolute values behind a ratio. */
	note?: string;
}

export interface MeasuredRow extends Row {
	scenario: string;
}

export interface Run {
	commit: string;
	/** The start, as an ISO date. */
	at: string;
	/** The load of the machine in the minute before the start. */
	load: number;
	rows: readonly MeasuredRow[];
}

const DIGITS = { x: 2, ms: 2, KB: 0, MB: 0 } as const;

const digits = (value: number, unit: Row["unit"]): string =>
	unit ? value.toFixed(DIGITS[unit]) : count(value);

/** A count, or one for each request, which is a small fraction. */
const count = (value: number): string => String(Number(value.toFixed(value < 10 ? 3 : 0)));

const shown = ({ median, low, high }: Spread, unit: Row["unit"]): string => {
	const [m, l, h] = [median, low, high].map((value) => digits(value, unit));
	return low === high ? `${m}` : `${m} (${l} to ${h})`;
};

function verdict({ bar, stretch, isMoreBetter = false }: Row, value: number): string {
	const meets = (target: number): boolean => (isMoreBetter ? value >= target : value <= target);
	if (bar === undefined) return "";
	if (stretch !== undefined && meets(stretch)) return "stretch";
	return meets(bar) ? "met" : "**missed**";
}

const limit = (value: number | undefined, { unit, isMoreBetter }: Row): string =>
	value === undefined ? "" : `${isMoreBetter ? "at least " : ""}${value} ${unit}`;

export const rowLine = (row: Row): string =>
	`${row.label}: ${shown(row.measured, row.unit)} ${row.unit} ${verdict(row, row.measured.median)}${row.note ? ` (${row.note})` : ""}`;

/** @param runs of one commit. @param scenarios all scenarios, in the order of their rows. */
export function document(runs: readonly Run[], scenarios: readonly string[]): string {
	const rows = runs.flatMap((run) => run.rows);
	const lines = scenarios.flatMap((name) => {
		const own = rows.filter(({ scenario }) => scenario === name);
		const labels = new Set(own.map(({ label }) => label));
		return [...labels].map((label) => line(own.filter((row) => row.label === label)));
	});
	return `# Results

The median of the runs, and the worst of them; of one run, the median (quartiles) of its rounds. *Error* is the floor measured against itself in the same way, in the last run. All rows were measured at the commit below, the others are left out.
${software(runs.at(-1)?.commit)}
${startsOf(runs)}

| What | Measured | Worst | Runs | Error | Bar | Stretch | Verdict of the worst run | Note |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
${lines.join("\n")}
`;
}

function startsOf(runs: readonly Run[]): string {
	const starts = runs.map(({ at }) => at.slice(0, 16).replace("T", " ")).sort();
	const loads = runs.map(({ load }) => load);
	const [lowest, highest] = [Math.min(...loads), Math.max(...loads)].map((load) => load.toFixed(1));
	return `Runs: ${runs.length}, the first at ${starts[0]} UTC, the last at ${starts.at(-1)} UTC; the load of the machine before them was ${lowest} to ${highest}.`;
}

/** @param rows those of all runs of one scenario with one label. */
function line(rows: readonly MeasuredRow[]): string {
	const last = rows.at(-1);
	if (!last) return "";
	const medians = rows.map(({ measured }) => measured.median);
	const worst = last.isMoreBetter ? Math.min(...medians) : Math.max(...medians);
	const { label, unit, error, bar, stretch, note = "" } = last;
	const cells = [
		label,
		`${rows.length > 1 ? digits(spread(medians).median, unit) : shown(last.measured, unit)} ${unit}`,
		rows.length > 1 ? `${digits(worst, unit)} ${unit}` : "",
		String(rows.length),
		error ? shown(error, unit) : "",
		limit(bar, last),
		limit(stretch, last),
		verdict(last, worst),
		note && rows.length > 1 ? `${note} (last run)` : note,
	];
	return `| ${cells.join(" | ")} |`;
}

function software(commit = ""): string {
	const [cpu] = cpus();
	const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8")) as {
		version: string;
	};
	const peer = peerVersion();
	return `Ganglion ${version} (${commit.slice(0, 8)}), workerd ${workerdVersion}, Node ${process.version}${peer ? `, @portkey-ai/gateway ${peer}` : ""}; ${cpus().length} cores, ${cpu?.model.trim()}.`;
}
