/** The present state of an account's limits, for `explain` and for metrics. Changes nothing. */
import type { Admission, Admitted, Budget, Credential, RateLimit } from "../admission.ts";
import type { Budgets } from "./budgets.ts";
import type { Windows } from "./windows.ts";

export interface LimitStatusQuery {
	/** A token's own limits are added. */
	credential: Credential;
	rates: readonly RateLimit[];
	budgets: readonly Budget[];
	/** A hypothetical request: the status has the answer that it would receive. */
	request?: Pick<Admission, "model" | "unpriced" | "cost">;
}

export interface LimitStatus {
	/** UTC, `2026-11-21`. */
	day: string;
	/** Open requests. */
	open: number;
	/** Leases that isolates have not returned. */
	leases: number;
	budgets: (Budget & {
		spentMicroNeurons: number;
		reservedMicroNeurons: number;
		remainingMicroNeurons: number;
	})[];
	/** `used`: admitted during the last minute. */
	rates: (RateLimit & { used: number; remaining: number })[];
	/** The answer that the request would receive, if the query has one. */
	answer?: Admitted;
}

/** The use of each limit. */
export const usedOf = (
	limits: { budgets: readonly Budget[]; rates: readonly RateLimit[] },
	{ budgets, windows, now }: { budgets: Budgets; windows: Windows; now: number },
): Pick<LimitStatus, "budgets" | "rates"> => ({
	budgets: limits.budgets.map((budget) => {
		const { spent, reserved } = budgets.balance(budget);
		return {
			...budget,
			spentMicroNeurons: spent,
			reservedMicroNeurons: reserved,
			remainingMicroNeurons: budgets.remaining(budget),
		};
	}),
	rates: limits.rates.map((rate) => {
		const used = windows.used(rate.key, now);
		return { ...rate, used, remaining: Math.max(0, rate.perMinute - used) };
	}),
});
