/**
 * Waits for the first target that answers: one target after the other, each as often as the route's retries allow. A route
 * with `hedge_ms` starts a second attempt in parallel. The first answer wins, and the other attempt is cancelled.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import { isHedgeable } from "../../tasks/traits.ts";
import type { DispatchState, StartedAnswer } from "./dispatch-state.ts";
import { decide, pauseMs } from "./retry-policy.ts";

/** Throws `AiError`: a refusal that every target would repeat. Resolves with nothing if no target is left. */
export function firstResponse(state: DispatchState): Promise<StartedAnswer | undefined> {
	const { signal } = state.context;
	if (signal.aborted) throw new AiError("aborted");
	const { hedgeMs } = state.plan;
	return hedgeMs !== undefined && isHedgeable(state.call) ? hedge(state, hedgeMs) : tryTargets(state, signal);
}

/** Returns nothing if no target is left. `optional`: tries only targets whose circuit is not open. */
async function tryTargets(
	state: DispatchState,
	signal: AbortSignal,
	optional = false,
): Promise<StartedAnswer | undefined> {
	const { plan, services } = state;
	for (let target = state.nextTarget(optional); target; target = state.nextTarget(optional)) {
		// A target with an open circuit is the last resort, and is not retried.
		const attempts = services.health.circuit(target) === "open" ? 1 : plan.retries.attempts;
		for (let calls = 1; ; calls++) {
			try {
				return await state.attempt(target, state.call, signal);
			} catch (error) {
				if (signal.aborted) {
					state.putBack(target);
					throw new AiError("aborted", undefined, { cause: error });
				}
				const failure = toAiError(error);
				const decision = decide(failure);
				if (decision === "fail") throw failure;
				state.recordFailure(target, failure);
				if (decision === "nextTarget" || calls >= attempts) break;
				const pause = pauseMs(plan.retries, calls, failure.retryAfter, services.random);
				if (pause === undefined || pause >= state.leftMs) break;
				await services.wait(pause, signal).catch((cause: unknown) => {
					state.putBack(target);
					throw new AiError("aborted", undefined, { cause });
				});
				// Other requests may have opened the circuit meanwhile. An engine that named a time is called at that time.
				const isOpen = services.health.circuit(target) === "open";
				if (isOpen && failure.retryAfter === undefined) break;
			}
		}
	}
	return undefined;
}

function hedge(state: DispatchState, hedgeMs: number): Promise<StartedAnswer> {
	const { signal } = state.context;
	const attempts = new Set<AbortController>();
	let over = false;
	const { promise, resolve, reject } = Promise.withResolvers<StartedAnswer>();
	const finish = (settle: () => void) => {
		if (over) return;
		over = true;
		timer.cancel();
		for (const attempt of attempts) attempt.abort();
		settle();
	};
	const start = (optional: boolean) => {
		const attempt = new AbortController();
		attempts.add(attempt);
		tryTargets(state, AbortSignal.any([signal, attempt.signal]), optional).then(
			(started) => {
				attempts.delete(attempt);
				if (started && over) state.discard(started);
				else if (started) finish(() => resolve(started));
				else if (attempts.size === 0) finish(() => reject(state.failure));
			},
			(error: unknown) => finish(() => reject(error)),
		);
	};
	const timer = state.services.startTimer(hedgeMs, () => start(true), signal);
	start(false);
	return promise;
}
