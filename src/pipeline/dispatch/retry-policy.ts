/** Decides what a failure means for the request, and for the health of the engine. Pure. */
import type { AiError, FailureKey } from "../../core/errors.ts";
import type { Retries } from "../plan.ts";

/**
 * `fail`: every engine would answer the same. `nextTarget`: this engine would fail again, another may not. `retry`: the
 * failure may be temporary.
 */
export type RetryDecision = "fail" | "nextTarget" | "retry";

/** Failures of the engine, not of the request: the only ones that count against its health. */
const ENGINE_FAILURES: ReadonlySet<FailureKey> = new Set([
	"executionFailed",
	"outOfCapacity",
	"timeout",
	"upstreamUnavailable",
]);
/** The failures of this list that may be temporary. */
const TEMPORARY: ReadonlySet<FailureKey> = new Set([
	"executionFailed",
	"outOfCapacity",
	"upstreamUnavailable",
]);
const FORBIDDEN = 403;
const NOT_IMPLEMENTED = 501;

export function decide({ key, retryable, isLasting, upstream }: AiError): RetryDecision {
	if (!retryable) return "fail";
	if (isLasting) return "nextTarget";
	if (key === "outOfCapacity") return "retry";
	if (!TEMPORARY.has(key)) return "nextTarget";
	const status = upstream?.status ?? 0;
	// Wrong credentials, redirects, routes that the engine does not have.
	return (status >= 300 && status < 500) || status === NOT_IMPLEMENTED ? "nextTarget" : "retry";
}

/**
 * Whether the failure shows a healthy engine; `undefined` if it shows nothing. A refusal shows that the engine works. A
 * caller can provoke a 4xx or a 501 at will, so an unknown one shows nothing.
 */
export function isHealthy({ key, upstream, isOfWorkingEngine }: AiError): boolean | undefined {
	// Not a failure of the engine: the gateway refused the request, or failed.
	if (!upstream || isOfWorkingEngine) return undefined;
	const { status } = upstream;
	if (status === NOT_IMPLEMENTED) return undefined;
	// The total time is up. The caller decides how long an answer is; a silent engine is a `timeout`.
	if (key === "modelTimeout") return undefined;
	if (!ENGINE_FAILURES.has(key)) return status === undefined ? undefined : true;
	// A refused key, or a firewall or moderation that the request's content has provoked.
	if (status === FORBIDDEN) return undefined;
	const isProvoked = status !== undefined && status >= 400 && status < 500;
	return key === "executionFailed" && isProvoked ? undefined : false;
}

/**
 * Milliseconds before the next call: a random part of an exponentially growing bound ("full jitter"), and at least the
 * engine's `Retry-After`. `undefined`: `Retry-After` exceeds the longest pause.
 *
 * @param calls so far, of this target.
 */
export function pauseMs(
	{ baseMs, maxMs }: Retries,
	calls: number,
	retryAfter: number | undefined,
	random: () => number,
): number | undefined {
	const retryAfterMs = (retryAfter ?? 0) * 1000;
	if (retryAfterMs > maxMs) return undefined;
	return retryAfterMs + random() * Math.min(maxMs, baseMs * 2 ** (calls - 1));
}
