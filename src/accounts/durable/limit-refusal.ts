/** The refusal of a request by a limit. */
import type { FailureKey } from "../../core/errors.ts";
import type { Admitted, RateLimit } from "../admission.ts";
import type { Instant } from "../clock.ts";

export interface LimitRefusal {
	failure: FailureKey;
	description?: string;
	/** When the same request would be admitted; infinite if never. */
	until: number;
}

export interface LimitDecision {
	answer: Admitted;
	/** Includes the token's own rate. */
	rates: readonly RateLimit[];
	/** Micro-neurons. */
	reserved: number;
}

/** The refusal that lasts longest: after it the request would be admitted. */
export function longestRefusal(
	refusals: readonly LimitRefusal[],
	{ clock }: Instant,
): Extract<Admitted, { ok: false }> {
	const { failure, description, until } = refusals.reduce((a, b) => (b.until > a.until ? b : a));
	return {
		ok: false,
		failure,
		...(description !== undefined && { description }),
		...(Number.isFinite(until) && { retryAfter: Math.ceil((until - clock) / 1000) }),
	};
}
