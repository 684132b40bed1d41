/** Records the end of a call for the health of its engine. */
import type { AiError } from "../../core/errors.ts";
import type { CallOutcome } from "../../fleet/watched-call.ts";
import { isHealthy } from "./retry-policy.ts";

/** `failure` is absent if the caller has cancelled the call. */
export function recordFailure(outcome: CallOutcome, failure: AiError | undefined): void {
	const healthy = failure && isHealthy(failure);
	if (healthy === undefined) outcome.cancel();
	else if (healthy) outcome.succeed();
	else outcome.fail(failure?.retryAfter === undefined ? undefined : failure.retryAfter * 1000);
}

/** Records how a stream ended. */
export const recordStreamEnd = (outcome: CallOutcome, failure: AiError | undefined): void =>
	failure ? recordFailure(outcome, failure) : outcome.succeed();
