/** Why a limit refuses a request, and until when. */
import type { FailureKey } from "../../core/errors.ts";
import type { Admitted } from "../admission.ts";
import type { Instant } from "../clock.ts";

export interface Refusal {
	failure: FailureKey;
	description?: string;
	/** When the same request would pass; infinite where it never does. */
	until: number;
}

/** Of several reasons the one that lasts longest: after it, the request passes. */
export function refuse(refusals: readonly Refusal[], { clock }: Instant): Admitted {
	const { failure, description, until } = refusals.reduce((a, b) => (b.until > a.until ? b : a));
	return {
		ok: false,
		failure,
		...(description !== undefined && { description }),
		...(Number.isFinite(until) && { retryAfter: Math.ceil((until - clock) / 1000) }),
	};
}
