/** What a run found, for a terminal. */
import { CLASSES, type Class, type Violation } from "./audit.ts";
import type { Run } from "./conservation.ts";

const NAMES: Record<Class, string> = {
	told: "the engine told its usage",
	counted: "whole, its events counted by us",
	estimated: "whole, estimated by its text",
	cancelled: "cancelled, the engine in step with it",
	cancelledRunning: "cancelled, the engine ahead of it",
	cancelledBefore: "cancelled before the headers, billed",
	interrupted: "interrupted amid the answer",
	failed: "failed, nothing billed",
	expired: "expired, billed as reserved",
	refused: "refused, nothing booked",
	inVain: "refused, an engine asked in vain",
};
const MAX_STORIES = 12;

const number = (value: number): string => value.toLocaleString("en-US");

export function summary({ killed, objectFaults, seconds, verdict, watched }: Run): string {
	const lines = [
		["", "requests", "engine's tokens", "ledger's tokens", "difference", "most apart", "neurons"],
		...CLASSES.map((name) => {
			const { engineTokens, ledgerTokens, microNeurons, mostApart, requests } = verdict.tallies[name];
			const part = name === "cancelled" || name === "cancelledRunning" || name === "interrupted";
			const compared = part || name === "told" || name === "counted" || name === "cancelledBefore";
			return [
				NAMES[name],
				number(requests),
				compared ? number(engineTokens) : "",
				compared ? number(ledgerTokens) : "",
				compared ? number(engineTokens - ledgerTokens) : "",
				compared ? number(mostApart) + (part ? " chunks" : " tokens") : "",
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
	const counts = Map.groupBy(objectFaults, ({ what }) => what);
	const faults = [...counts].map(([what, { length }]) => `${length} x ${what}`).sort();
	return [
		...table,
		"",
		`workerd killed ${killed.length} times; a killed Worker took settlements of the last ${Math.max(0, Math.round(verdict.lostMs))} ms along`,
		`not let in: ${[...verdict.refusals].map(([told, count]) => `${count} x ${told}`).join(", ")}`,
		`calls of the accounts' objects: ${faults.join(", ") || "no faults"}`,
		`budgets: looked at ${number(watched.samples)} times, at most ${(watched.fullest * 100).toFixed(1)}% spent and reserved, up to ${watched.mostOpen} requests of an account under way`,
		`${seconds.toFixed(1)} s`,
	].join("\n");
}

/** Of everything that was wrong, each with its request's story. */
export function stories({ verdict, watched }: Run): string {
	const { violations } = verdict;
	const told = violations.slice(0, MAX_STORIES).map(storyOf);
	const more = violations.length > MAX_STORIES ? [`… and ${violations.length - MAX_STORIES} more`] : [];
	return [...new Set(watched.overshoots)].concat(told, more).join("\n\n");
}

export function storyOf({ evidence, rows, what }: Violation): string {
	const lines = [`VIOLATION: ${what}`];
	if (evidence) {
		const { calls, heard, planned, question } = evidence;
		const since = (time: number) => `${(time - heard.startedAt).toFixed(0)} ms`;
		lines.push(`  planned: ${JSON.stringify({ ...planned, prompt: undefined })}`);
		lines.push(`  asked:   ${question.path}, reserves ${question.reserved} micro-neurons`);
		for (const call of calls) {
			const { closedAt, openedAt, ...rest } = call;
			const closed = closedAt === undefined ? "open" : `closed at ${since(closedAt)}`;
			lines.push(`  engine:  called at ${since(openedAt)}, ${closed}: ${JSON.stringify(rest)}`);
		}
		const { endedAt, startedAt: _, tokens, ...rest } = heard;
		lines.push(
			`  caller:  ended at ${since(endedAt)}: ${JSON.stringify({ ...rest, tokens: tokens.length })}`,
		);
	}
	for (const row of rows) lines.push(`  row:     ${JSON.stringify(row)}`);
	return lines.join("\n");
}

export const isClean = ({ verdict, watched }: Run): boolean =>
	verdict.violations.length === 0 && watched.overshoots.length === 0;
