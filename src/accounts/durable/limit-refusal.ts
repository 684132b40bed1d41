/** Why a limit refuses a request, and until when. */
import type { FailureKey } from "../../core/errors.ts";
import type { Admitted, RateLimit } from "../admission.ts";
import type { Instant } from "../clock.ts";

export interface LimitRefusal {
	failure: FailureKey;
	description?: string;
	/** When the same request would pass; infinite where it never does. */
	until: number;
}

export interface LimitDecision {
	answer: Admitted;
	/** The token's own among them. */
	rates: readonly RateLimit[];
	/** Micro-neurons. */
	reserved: number;
}

/** Of several reasons the one that lasts longest: after it, the request passes. */
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
