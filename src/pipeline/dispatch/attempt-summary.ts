/**
 * Summarizes the failures of several targets in one error message: for each target its backend, the code, and our own
 * description or the HTTP status; never the engine's own text.
 */
import { AiError } from "../../core/errors.ts";
import type { PlannedTarget } from "../plan.ts";

export interface FailedTarget {
	/** The latest one. */
	failure: AiError;
	calls: number;
}

const MAX_TARGETS = 8;
const MAX_REASON_CHARS = 100;
/** The backend's kind, which some descriptions have after its name. */
const KIND = /^\([\w-]+\) /;

/** The same failure. If other targets failed too, its description ends with `(called in turn: …)`. */
export function summarizeAttempts(error: AiError, failed: ReadonlyMap<PlannedTarget, FailedTarget>): AiError {
	if ([...failed.values()].every(({ failure }) => failure === error)) return error;
	const shown = [...failed].slice(0, MAX_TARGETS).map(describe);
	const others = failed.size > MAX_TARGETS ? `; and ${failed.size - MAX_TARGETS} more` : "";
	const { key, description, cause, retryAfter, retryable, status, upstream } = error;
	const combined = new AiError(key, `${description} (called in turn: ${shown.join("; ")}${others})`, {
		cause,
		retryable,
		status,
		...(retryAfter !== undefined && { retryAfter }),
		...(upstream && { upstream }),
	});
	combined.place = error.place;
	return combined;
}

function describe([{ backend }, { failure, calls }]: [PlannedTarget, FailedTarget]): string {
	const { code, description, upstream } = failure;
	const [, own] = description.split(`backend '${backend}' `);
	const status = upstream?.status === undefined ? undefined : `HTTP ${upstream.status}`;
	const reason = own?.replace(KIND, "").slice(0, MAX_REASON_CHARS) ?? status;
	return [`${backend}: ${code}`, ...(reason ? [reason] : []), ...(calls > 1 ? [`${calls} calls`] : [])].join(
		", ",
	);
}
