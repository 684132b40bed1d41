/** Formats the results of a run for a terminal. */
import { CLASSES, type Class, type Violation } from "./audit.ts";
import type { Run } from "./conservation.ts";

const NAMES: Record<Class, string> = {
	reported: "complete, with the engine's usage",
	counted: "complete, its events counted",
	estimated: "complete, estimated by its text",
	cancelled: "cancelled, the engine in step",
	cancelledRunning: "cancelled, the engine ahead",
	cancelledBefore: "cancelled before the headers, billed",
	interrupted: "interrupted during the answer",
	failed: "failed, nothing billed",
	expired: "expired, charged the reservation",
	refused: "refused, no row",
	unbilledCalls: "refused, after a call of an engine",
	unreported: "not reported before a kill, no row",
	chargedLeases: "leases of killed Workers, charged",
};
const MAX_VIOLATIONS = 12;

const number = (value: number): string => value.toLocaleString("en-US");

export function summary(run: Run): string {
	const { killed, objectFaults, seconds, verdict, observations } = run;
	const lines = [
		["", "requests", "engine's tokens", "ledger's tokens", "difference", "max. difference", "neurons"],
		...CLASSES.map((name) => {
			const { engineTokens, ledgerTokens, microNeurons, maxDifference, requests } = verdict.tallies[name];
			const part = name === "cancelled" || name === "cancelledRunning" || name === "interrupted";
			const compared = part || name === "reported" || name === "counted" || name === "cancelledBefore";
			return [
				NAMES[name],
				number(requests),
				compared ? number(engineTokens) : "",
				compared ? number(ledgerTokens) : "",
				compared ? number(engineTokens - ledgerTokens) : "",
				compared ? number(maxDifference) + (part ? " chunks" : " tokens") : "",
				number(microNeurons / 1_000_000),
			];
		}),
	];
	const widths =
		lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
	const table = lines.map((line) =>
		line
			.map((cell, column) =>
				column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
			)
			.join("  "),
	);
	const counts = Map.groupBy(objectFaults, ({ kind }) => kind);
	const faults = [...counts].map(([kind, { length }]) => `${length} x ${kind}`).sort();
	return [
		...table,
		"",
		`workerd killed ${killed.length} times; the kills lost settlements of the last ${Math.max(0, Math.round(verdict.lostMs))} ms`,
		...pausesOf(run),
		`not admitted: ${[...verdict.refusals].map(([code, count]) => `${count} x ${code}`).join(", ")}`,
		`calls of the accounts' objects: ${faults.join(", ") || "no faults"}`,
		`budgets: sampled ${number(observations.samples)} times, at most ${(observations.fullest * 100).toFixed(1)}% spent and reserved, up to ${observations.maxOpen} open requests of an account`,
		`${seconds.toFixed(1)} s`,
	].join("\n");
}

function pausesOf({ late, paused }: Run): string[] {
	if (paused.length === 0) return [];
	const ms = paused.map(({ at, upAt }) => upAt - at);
	return [
		`workerd paused ${paused.length} times, until it answered for ${ms.map((each) => (each / 1000).toFixed(1)).join(", ")} s; ${number(late)} requests settled after their reservations had expired`,
	];
}

/** The violations, each with the records of its request. */
export function violationDetails({ verdict, observations }: Run): string {
	const { violations } = verdict;
	const shown = violations.slice(0, MAX_VIOLATIONS).map(describeViolation);
	const omitted =
		violations.length > MAX_VIOLATIONS ? [`… and ${violations.length - MAX_VIOLATIONS} more`] : [];
	return [...new Set(observations.overshoots)].concat(shown, omitted).join("\n\n");
}

export function describeViolation({ evidence, rows, problem }: Violation): string {
	const lines = [`VIOLATION: ${problem}`];
	if (evidence) {
		const { calls, received, planned, callerRequest } = evidence;
		const since = (time: number) => `${(time - received.startedAt).toFixed(0)} ms`;
		lines.push(`  planned: ${JSON.stringify({ ...planned, prompt: undefined })}`);
		lines.push(`  request: ${callerRequest.path}, reserves ${callerRequest.reserved} micro-neurons`);
		for (const call of calls) {
			const { closedAt, concludedAt, openedAt, sentAt, ...remaining } = call;
			const at = (name: string, time: number | undefined) =>
				time === undefined ? "" : `, ${name} at ${since(time)}`;
			const events = sentAt.length > 0 ? `, events at ${sentAt.map(since).join(", ")}` : "";
			const times = `${events}${at("concluded", concludedAt)}${at("closed", closedAt)}`;
			lines.push(`  engine:  called at ${since(openedAt)}${times}: ${JSON.stringify(remaining)}`);
		}
		const { endedAt, startedAt, tokens, ...remaining } = received;
		// The times of the rows are those of a clock.
		const start = new Date(performance.timeOrigin + startedAt).toISOString();
		lines.push(
			`  caller:  started at ${start}, ended at ${since(endedAt)}: ${JSON.stringify({ ...remaining, tokens: tokens.length })}`,
		);
	}
	for (const row of rows) lines.push(`  row:     ${JSON.stringify(row)}`);
	return lines.join("\n");
}

export const isClean = ({ verdict, observations }: Run): boolean =>
	verdict.violations.length === 0 && observations.overshoots.length === 0;
