/** How an account stands against its limits now: for `explain`, and for metrics. Changes nothing. */
import type { Admission, Admitted, Budget, Credential, RateLimit } from "../admission.ts";
import type { Budgets } from "./budgets.ts";
import type { Windows } from "./windows.ts";

export interface LimitStatusQuery {
	/** A token's own limits are added. */
	credential: Credential;
	rates: readonly RateLimit[];
	budgets: readonly Budget[];
	/** A request that is not made. */
	asked?: Pick<Admission, "model" | "unpriced" | "worth">;
}

export interface LimitStatus {
	/** UTC, `2026-11-21`. */
	day: string;
	/** Requests under way. */
	open: number;
	budgets: (Budget & { spentMicroNeurons: number; reservedMicroNeurons: number; roomMicroNeurons: number })[];
	/** `used`: let in during the last minute. */
	rates: (RateLimit & { used: number; room: number })[];
	/** What the request that is not made would be told. */
	would?: Admitted;
}

/** How much of each limit is used. */
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
			roomMicroNeurons: budgets.room(budget),
		};
	}),
	rates: limits.rates.map((rate) => {
		const used = windows.used(rate.key, now);
		return { ...rate, used, room: Math.max(0, rate.perMinute - used) };
	}),
});
