/**
 * Why each of several engines did not answer, for a failure that would name only one of them: the backend's name, the
 * code, and our own words for it or the status; not what the engine said.
 */
import { AiError } from "../../core/errors.ts";
import type { PlannedTarget } from "../plan.ts";

/** Of one target: how it failed last, and how often it was called. */
export interface Turn {
	failure: AiError;
	calls: number;
}

const MAX_TURNS = 8;
const MAX_WHY_CHARS = 100;
/** As some sentences name it behind the backend. */
const KIND = /^\([\w-]+\) /;

/** The same failure, whose sentence goes on with `(asked in turn: …)` where others failed, too. */
export function inTurn(error: AiError, turns: ReadonlyMap<PlannedTarget, Turn>): AiError {
	if ([...turns.values()].every(({ failure }) => failure === error)) return error;
	const told = [...turns].slice(0, MAX_TURNS).map(describe);
	const more = turns.size > MAX_TURNS ? `; and ${turns.size - MAX_TURNS} more` : "";
	const { key, description, cause, retryAfter, retryable, upstream } = error;
	const combined = new AiError(key, `${description} (asked in turn: ${told.join("; ")}${more})`, {
		cause,
		retryable,
		...(retryAfter !== undefined && { retryAfter }),
		...(upstream && { upstream }),
	});
	combined.place = error.place;
	return combined;
}

function describe([{ backend }, { failure, calls }]: [PlannedTarget, Turn]): string {
	const { code, description, upstream } = failure;
	const [, own] = description.split(`backend '${backend}' `);
	const status = upstream?.status === undefined ? undefined : `HTTP ${upstream.status}`;
	const why = own?.replace(KIND, "").slice(0, MAX_WHY_CHARS) ?? status;
	return [`${backend}: ${code}`, ...(why ? [why] : []), ...(calls > 1 ? [`${calls} calls`] : [])].join(", ");
}
