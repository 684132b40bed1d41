/** What a failure means for the request, and for the engine. Pure. */
import type { AiError, FailureKey } from "../../core/errors.ts";
import type { Retries } from "../plan.ts";

/** `stop`: any engine would say the same. `next`: this one would, another may not. `again`: it may pass. */
export type Verdict = "stop" | "next" | "again";

/** Failures of the engine, not of the request: the only ones that count against its health. */
const ENGINE_FAILURES: ReadonlySet<FailureKey> = new Set([
	"executionFailed",
	"outOfCapacity",
	"timeout",
	"upstreamUnavailable",
]);
/** Of these, the ones that may pass when the same engine is asked again. */
const MAY_PASS: ReadonlySet<FailureKey> = new Set([
	"executionFailed",
	"outOfCapacity",
	"upstreamUnavailable",
]);
const NOT_IMPLEMENTED = 501;

export function verdictOf({ key, retryable, upstream }: AiError): Verdict {
	if (!retryable) return "stop";
	if (key === "outOfCapacity") return "again";
	if (!MAY_PASS.has(key)) return "next";
	const status = upstream?.status ?? 0;
	// Credentials, redirects, routes that an engine does not have.
	return (status >= 300 && status < 500) || status === NOT_IMPLEMENTED ? "next" : "again";
}

/**
 * What the failure says of the engine's health: `undefined` where it says nothing. A refusal says that the engine works.
 * A caller can provoke a 4xx or a 501 at will, so one that is no known refusal says nothing.
 */
export function isHealthy({ key, upstream }: AiError): boolean | undefined {
	// Not an engine's failure at all: the gateway refused, or failed.
	if (!upstream) return undefined;
	const { status } = upstream;
	if (status === NOT_IMPLEMENTED) return undefined;
	// The time of the whole call is up. How long an answer is, is the caller's choice; silence is a `timeout`.
	if (key === "modelTimeout") return undefined;
	if (!ENGINE_FAILURES.has(key)) return status === undefined ? undefined : true;
	const isProvoked = status !== undefined && status >= 400 && status < 500;
	return key === "executionFailed" && isProvoked ? undefined : false;
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
