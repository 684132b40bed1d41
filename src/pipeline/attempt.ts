/** The calls of engines of one request, and their record in its settlement. */
import type { Settlement } from "../accounts/admission.ts";
import type { AiError } from "../core/errors.ts";
import type { PlannedTarget } from "./plan.ts";
import type { ReplyHold } from "./reply-hold.ts";

/** One call of an engine. */
export interface Attempt {
	/** Counted from 1, over all engines of the request. */
	number: number;
	target: PlannedTarget;
	/** The prefill replica of the target, if that one has failed. */
	prefill?: PlannedTarget;
	/** Epoch milliseconds. */
	startedAt: number;
	failedAt?: number;
	failure?: AiError;
	/** Absent: nothing of its reply is held. */
	reply?: ReplyHold;
}

const MAX_RECORDED_CALLS = 20;

/** `startedAt`: when the request arrived. */
export const recordedCalls = (attempts: readonly Attempt[], startedAt: number): Settlement["calls"] =>
	attempts
		.slice(0, MAX_RECORDED_CALLS)
		.map(({ target, prefill = target, startedAt: calledAt, failedAt, failure }) => ({
			backend: prefill.backend,
			startedMs: calledAt - startedAt,
			...(failedAt !== undefined && { failedMs: failedAt - startedAt }),
			...(failure && { code: failure.code }),
		}));
