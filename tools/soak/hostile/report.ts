/** The table of a hostile run, and its bars. */
import type { CallerResults } from "./callers.ts";
import { type HostileRun, MEMORY_AFTER, type Phase, type Refusals } from "./run.ts";
import type { Memory } from "./served.ts";

/** Share of the normal callers' requests. */
const ANSWERED = 0.95;
/** Times the quiet one. */
const P99 = 3;
const MEMORY_BYTES = 512 * 1024 * 1024;
const REFUSAL_BYTES = 1_000;
const MEBIBYTE = 1024 * 1024;

const share = ({ answered, failed }: CallerResults): number => {
	const others = Object.values(failed).reduce((sum, count) => sum + count, 0);
	return answered / Math.max(1, answered + others);
};
const bytesPerRefusal = ({ storedGrowth, count }: Refusals): number => storedGrowth / Math.max(1, count);
const listed = (counts: Record<string, number>): string =>
	Object.entries(counts)
		.sort(([, a], [, b]) => b - a)
		.map(([name, count]) => `${count} x ${name}`)
		.join(", ");
const mebibytes = (bytes: number): string => `${(bytes / MEBIBYTE).toFixed(0)} MiB`;
const described = ({ guard, runtime, total }: Memory): string =>
	`${mebibytes(total)} (guard ${mebibytes(guard)}, runtime ${mebibytes(runtime)})`;
/** The part of their time with work in which the attackers, and the gateway's runtime, must run. The attackers have a lower priority. */
const RAN = 0.25;

/** Why the run says nothing: the machine did not let the attackers attack, or the gateway answer. */
export const invalidities = ({ phases }: HostileRun): string[] =>
	phases.flatMap(({ name, ran, runtime, unopened }) => [
		...starved(`${name}: the attackers`, ran),
		...starved(`${name}: the gateway's runtime`, runtime.ran),
		...(unopened.length > 0 ? [`${name}: no connection of: ${unopened.join(", ")}`] : []),
	]);

const starved = (name: string, ran: number): string[] =>
	ran < RAN ? [`${name} ran in ${wholePercent(ran)} of the time with work: other processes starved it`] : [];
const wholePercent = (part: number): string => `${(100 * part).toFixed(0)}%`;

/** Missed bars. Empty: the run passed. */
export function missedBars(run: HostileRun): string[] {
	const { phases, quiet, idleMemory, refusals, memoryAfter, differences } = run;
	const missed = phases.flatMap((phase) => missedBy(phase, run).map((text) => `${phase.name}: ${text}`));
	if (quiet.p99 > 0 && memoryAfter.total > MEMORY_AFTER * idleMemory.total)
		missed.push(
			`memory after the attack is ${(memoryAfter.total / idleMemory.total).toFixed(2)} times the idle one`,
		);
	if (refusals.storedGrowth > REFUSAL_BYTES * refusals.count)
		missed.push(`${bytesPerRefusal(refusals).toFixed(0)} bytes of disk per refusal`);
	if (refusals.answered > 0) missed.push(`${refusals.answered} requests that must be refused were answered`);
	const uncaught = uncaughtIn(run.output);
	if (uncaught.length > 0) missed.push(`${uncaught.length} uncaught exceptions: ${uncaught[0]}`);
	return [...missed, ...differences.map((text) => `books: ${text}`)];
}

/** Lines of the gateway about exceptions and rejections that nothing handles. */
const uncaughtIn = (output: string): string[] =>
	output.split("\n").filter((line) => /uncaught exception|unhandled/i.test(line));

function missedBy({ callers, ended, peakMemory }: Phase, { quiet, idleMemory }: HostileRun): string[] {
	const missed: string[] = [];
	if (ended !== undefined) missed.push(`the process ended: ${ended}`);
	if (share(callers) < ANSWERED)
		missed.push(`${(100 * share(callers)).toFixed(1)}% answered (${listed(callers.failed)})`);
	if (callers.p99 > P99 * quiet.p99)
		missed.push(
			`p99 ${callers.p99.toFixed(0)} ms, ${(callers.p99 / quiet.p99).toFixed(1)} times the quiet one`,
		);
	if (callers.failedProbes > 0)
		missed.push(`${callers.failedProbes} of ${callers.probes} probes of /health failed`);
	const above = peakMemory.total - idleMemory.total;
	if (above > MEMORY_BYTES) missed.push(`memory ${mebibytes(above)} above idle`);
	return missed;
}

export function hostileTable(run: HostileRun): string {
	const { phases, quiet, coldMemory, idleMemory, refusals, memoryAfter } = run;
	const rows = [
		["phase", "answered", "p50 ms", "p99 ms", "x quiet", "floor p99", "/health", "memory", "disk"],
		["quiet", ...callerCells(quiet, quiet), mebibytes(idleMemory.total), ""],
		...phases.map(({ name, callers, peakMemory, diskGrowth }) => [
			name,
			...callerCells(callers, quiet),
			`+${mebibytes(peakMemory.total - idleMemory.total)}`,
			mebibytes(diskGrowth),
		]),
	];
	const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
	const table = rows.map((row) =>
		row
			.map((cell, i) => cell.padEnd(widths[i] ?? 0))
			.join("  ")
			.trimEnd(),
	);
	return [
		...table,
		"",
		`memory: cold ${described(coldMemory)}; idle ${described(idleMemory)}`,
		...phases.map(({ peakMemory }) => `memory, most: ${described(peakMemory)}`),
		`memory after: ${described(memoryAfter)}: ${(memoryAfter.total / idleMemory.total).toFixed(2)} times idle, ${(memoryAfter.total / coldMemory.total).toFixed(2)} times cold`,
		...phases.map(
			({ name, ran, runtime, refused, callers }) =>
				`${name}: attackers ran ${wholePercent(ran)}; the runtime ran ${wholePercent(runtime.busy)} of the time, and ${wholePercent(runtime.ran)} of the time with work; refused: ${listed(refused)}; normal callers without an answer: ${listed(callers.failed) || "none"}; the clock of the normal callers was late by ${callers.loopP99.toFixed(1)} ms (p99)`,
		),
		`refusals: ${refusals.count}, ${bytesPerRefusal(refusals).toFixed(0)} bytes of disk each`,
		"",
		...phases.flatMap(({ tallies }) =>
			Object.entries(tallies).map(([name, tally]) => `  ${name}: ${listed(tally) || "still held"}`),
		),
	].join("\n");
}

const callerCells = (callers: CallerResults, quiet: CallerResults): string[] => [
	`${(100 * share(callers)).toFixed(1)}%`,
	callers.p50.toFixed(1),
	callers.p99.toFixed(1),
	(callers.p99 / quiet.p99).toFixed(1),
	`${callers.floorP99.toFixed(1)} ms`,
	`${callers.probes - callers.failedProbes}/${callers.probes}, ${callers.slowestProbeMs.toFixed(0)} ms`,
];

/** What a run is judged by. */
export interface HostileFigures {
	answered: number;
	p99Ratio: number;
	failedProbes: number;
	/** MiB. */
	aboveIdle: number;
	afterRatio: number;
	lived: boolean;
}

export const figuresOf = ({ phases, quiet, idleMemory, memoryAfter }: HostileRun): HostileFigures => ({
	answered: Math.min(...phases.map(({ callers }) => share(callers))),
	p99Ratio: Math.max(...phases.map(({ callers }) => callers.p99 / quiet.p99)),
	failedProbes: phases.reduce((sum, { callers }) => sum + callers.failedProbes, 0),
	aboveIdle: Math.max(...phases.map(({ peakMemory }) => peakMemory.total - idleMemory.total)) / MEBIBYTE,
	afterRatio: memoryAfter.total / idleMemory.total,
	lived: phases.every(({ ended }) => ended === undefined),
});

/** The median and the worst of runs, beside the bars. */
export function medianTable(all: readonly HostileFigures[]): string {
	const row = (
		name: string,
		values: number[],
		{ bar, least = false, show }: { bar: string; least?: boolean; show(value: number): string },
	): string => {
		const sorted = values.toSorted((a, b) => (least ? b - a : a - b));
		const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
		const worst = sorted.at(-1) ?? Number.NaN;
		return `| ${name} | ${show(median)} | ${show(worst)} | ${bar} |`;
	};
	const fixed = (digits: number) => (value: number) => value.toFixed(digits);
	const percent = (value: number): string => `${(100 * value).toFixed(1)}%`;
	return [
		`| ${all.length} runs | median | worst | bar |`,
		"| --- | --- | --- | --- |",
		row(
			"normal callers answered",
			all.map(({ answered }) => answered),
			{
				...{ bar: "95%", least: true, show: percent },
			},
		),
		row(
			"their p99, times the quiet one",
			all.map(({ p99Ratio }) => p99Ratio),
			{ bar: "3", show: fixed(1) },
		),
		row(
			"failed probes of /health",
			all.map(({ failedProbes }) => failedProbes),
			{ bar: "0", show: fixed(0) },
		),
		row(
			"memory above idle, MiB",
			all.map(({ aboveIdle }) => aboveIdle),
			{ bar: "512", show: fixed(0) },
		),
		row(
			"memory after, times idle",
			all.map(({ afterRatio }) => afterRatio),
			{ bar: "1.2", show: fixed(2) },
		),
		row(
			"the process ended",
			all.map(({ lived }) => (lived ? 0 : 1)),
			{ bar: "0", show: fixed(0) },
		),
	].join("\n");
}
