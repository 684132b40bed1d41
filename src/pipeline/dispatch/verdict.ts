/** What a failure means for the request, and for the engine. Pure. */
import type { AiError } from "../../errors.ts";
import type { Retries } from "../../request.ts";

/** `stop`: any engine would say the same. `next`: this one would, another may not. `again`: it may pass. */
export type Verdict = "stop" | "next" | "again";

const NOT_IMPLEMENTED = 501;

export function verdictOf({ key, retryable, upstream }: AiError): Verdict {
	if (!retryable) return "stop";
	const status = upstream?.status ?? 0;
	switch (key) {
		case "outOfCapacity":
			return "again";
		case "noSuchModel":
			return "next";
		// It has had its time.
		case "timeout":
		case "modelTimeout":
			return "next";
		default:
			// Credentials, redirects, routes that an engine does not have.
			return (status >= 300 && status < 500) || status === NOT_IMPLEMENTED ? "next" : "again";
	}
}

/** What the failure says of the engine's health: `undefined` where it says nothing. */
export function isHealthy(error: AiError): boolean | undefined {
	if (verdictOf(error) !== "stop" && error.key !== "noSuchModel") return false;
	// It refused in its own words, so it is there.
	return error.upstream?.status === undefined ? undefined : true;
}

/**
 * Milliseconds before the next call: anything up to the bound of its turn ("full jitter"), and not before the engine
 * wants to be asked again. `undefined`: it wants to be left alone for longer than anybody waits.
 *
 * @param calls so far, of this target.
 */
export function pauseMs(
	{ baseMs, maxMs }: Retries,
	calls: number,
	retryAfter: number | undefined,
	random: () => number,
): number | undefined {
	const askedMs = (retryAfter ?? 0) * 1000;
	if (askedMs > maxMs) return undefined;
	return askedMs + random() * Math.min(maxMs, baseMs * 2 ** (calls - 1));
}
