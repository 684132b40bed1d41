/** The table of a hostile run, and its bars. */
import type { CallerResults } from "./callers.ts";
import type { HostileRun, Phase } from "./run.ts";

/** Share of the normal callers' requests. */
const ANSWERED = 0.95;
/** Times the quiet one. */
const P99 = 3;
const MEMORY_BYTES = 512 * 1024 * 1024;
/** Times the idle one. */
const MEMORY_AFTER = 1.2;
const REFUSAL_BYTES = 1_000;
const MEBIBYTE = 1024 * 1024;

const share = ({ answered, failed }: CallerResults): number => {
	const others = Object.values(failed).reduce((sum, count) => sum + count, 0);
	return answered / Math.max(1, answered + others);
};
const listed = (counts: Record<string, number>): string =>
	Object.entries(counts)
		.sort(([, a], [, b]) => b - a)
		.map(([name, count]) => `${count} x ${name}`)
		.join(", ");
const mebibytes = (bytes: number): string => `${(bytes / MEBIBYTE).toFixed(0)} MiB`;

/** Missed bars. Empty: the run passed. */
export function missedBars(run: HostileRun): string[] {
	const { phases, quiet, idleMemory, refusals, memoryAfter, differences } = run;
	const missed = phases.flatMap((phase) => missedBy(phase, run).map((text) => `${phase.name}: ${text}`));
	if (quiet.p99 > 0 && memoryAfter > MEMORY_AFTER * idleMemory)
		missed.push(`memory after the attack is ${(memoryAfter / idleMemory).toFixed(2)} times the idle one`);
	if (refusals.diskGrowth > REFUSAL_BYTES * refusals.count)
		missed.push(
			`${(refusals.diskGrowth / Math.max(1, refusals.count)).toFixed(0)} bytes of disk per refusal`,
		);
	return [...missed, ...differences.map((text) => `books: ${text}`)];
}

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
	if (peakMemory - idleMemory > MEMORY_BYTES)
		missed.push(`memory ${mebibytes(peakMemory - idleMemory)} above idle`);
	return missed;
}

export function hostileTable(run: HostileRun): string {
	const { phases, quiet, idleMemory, refusals, memoryAfter } = run;
	const rows = [
		["phase", "answered", "p50 ms", "p99 ms", "x quiet", "/health", "memory", "disk"],
		["quiet", ...callerCells(quiet, quiet), mebibytes(idleMemory), ""],
		...phases.map(({ name, callers, peakMemory, diskGrowth }) => [
			name,
			...callerCells(callers, quiet),
			`+${mebibytes(peakMemory - idleMemory)}`,
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
	const perRefusal = refusals.diskGrowth / Math.max(1, refusals.count);
	return [
		...table,
		"",
		`memory after: ${mebibytes(memoryAfter)}, ${(memoryAfter / idleMemory).toFixed(2)} times idle`,
		`refusals: ${refusals.count}, ${perRefusal.toFixed(0)} bytes of disk each`,
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
	`${callers.probes - callers.failedProbes}/${callers.probes}, ${callers.slowestProbeMs.toFixed(0)} ms`,
];
