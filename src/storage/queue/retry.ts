/** When an item runs again after a run that did not complete it. Pure. */
import type { WorkRow } from "./work-table.ts";

export const DEFAULT_ATTEMPTS = 5;
/** An item that ends its process so often without progress may be the cause. */
const MAX_INTERRUPTIONS = 10;
/** Calls of `failed`. */
const MAX_FAILED_RUNS = 20;
const FIRST_RETRY_MS = 1_000;
const RETRY_GROWTH = 4;
/** The longest wait for a retry. */
const MAX_RETRY_MS = 10 * 60_000;
/** Dead items are kept so long. */
const DEAD_MS = 30 * 24 * 3_600_000;

/** How a run has ended. `failedCalled`: `failed` has succeeded, or the handler has none. */
export type WorkOutcome =
	| { kind: "complete" }
	| { kind: "postponed"; milliseconds: number }
	/** The process or the request of the run has ended. */
	| { kind: "interrupted" }
	| { kind: "failed"; error: string; retryAfterMs: number }
	| { kind: "exhausted"; error: string; failedCalled: boolean };

const backOff = (failures: number): number =>
	Math.min(FIRST_RETRY_MS * RETRY_GROWTH ** (failures - 1), MAX_RETRY_MS);

/** The clock may have been set back since the item was added, or since the time of its retry was computed. */
export const isReady = ({ attempts, createdAt, interruptions, startAt }: WorkRow, now: number): boolean =>
	startAt <= Math.max(now, createdAt) || (attempts + interruptions > 0 && startAt > now + MAX_RETRY_MS);

/** The item after a run that has not completed it. */
export function afterFailure(
	row: WorkRow,
	outcome: Exclude<WorkOutcome, { kind: "complete" }>,
	now: number,
): WorkRow {
	if (outcome.kind === "interrupted") return afterInterruption(row, now);
	if (outcome.kind === "postponed")
		return { ...row, state: "queued", startAt: now + Math.min(outcome.milliseconds, MAX_RETRY_MS) };
	const { error } = outcome;
	if (outcome.kind === "failed") {
		const attempts = row.attempts + 1;
		const startAt = now + Math.max(backOff(attempts), Math.min(outcome.retryAfterMs, MAX_RETRY_MS));
		return { ...row, state: "queued", attempts, error, startAt };
	}
	const failedRuns = (row.failedRuns ?? 0) + 1;
	const attempts = row.failedRuns === null ? row.attempts + 1 : row.attempts;
	if (outcome.failedCalled || failedRuns >= MAX_FAILED_RUNS)
		return { ...row, state: "dead", attempts, error, failedRuns, startAt: now };
	return { ...row, state: "queued", attempts, error, failedRuns, startAt: now + backOff(failedRuns) };
}

/** The item after its process has ended. */
export function afterInterruption(row: WorkRow, now: number): WorkRow {
	const interruptions = row.interruptions + 1;
	const isExhausted = interruptions >= MAX_INTERRUPTIONS;
	return {
		...row,
		state: "queued",
		interruptions,
		// The first one is usually a restart.
		startAt: interruptions === 1 ? now : now + backOff(interruptions - 1),
		...(isExhausted &&
			row.failedRuns === null && { failedRuns: 0, error: "The process ended while the work ran" }),
	};
}

/** Dead items of before are deleted. */
export const endOfRetention = (now: number): number => now - DEAD_MS;
