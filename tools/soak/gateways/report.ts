/** Formats the results of a run through gateways for a terminal. */
import { COUNTS, type GatewayVerdict } from "./audit.ts";
import type { GatewayRun } from "./run.ts";

const NAMES: Record<(typeof COUNTS)[number], string> = {
	answered: "answered by a model",
	cached: "answered by the cache, no call of an engine",
	fallback: "answered by the second step",
	blocked: "blocked by guardrails",
	failed: "failed",
	disconnected: "disconnected by the caller",
	resumable: "resumable, read to the end",
	killed: "under way at a kill",
	lost: "complete, the log was lost by a kill",
};

export function gatewaySummary({ books, killed, seconds, verdict }: GatewayRun): string {
	const { counts, lostMs } = verdict;
	const width = Math.max(...Object.values(NAMES).map(({ length }) => length));
	const calls = books.calls.flat().length + books.guardCalls.length;
	const rows = [...books.ledger.values()].flat().length;
	const logs = [...books.logs.values()].flat().length;
	return [
		...COUNTS.map((name) => `${NAMES[name].padEnd(width)}  ${String(counts[name]).padStart(6)}`),
		"",
		`${books.records.length} requests, ${logs} logs; ${calls} calls of engines, ${rows} rows of the ledger`,
		`workerd killed ${killed.length} times; the kills lost logs of answers of the last ${Math.max(0, Math.round(lostMs))} ms`,
		`${seconds.toFixed(1)} s`,
		...violationLines(verdict),
	].join("\n");
}

const MAX_VIOLATIONS = 12;

function violationLines({ violations }: GatewayVerdict): string[] {
	const shown = violations.slice(0, MAX_VIOLATIONS).map((violation) => `VIOLATION: ${violation}`);
	const hidden = violations.length - shown.length;
	return hidden > 0 ? [...shown, `and ${hidden} further violations`] : shown;
}
