/** The present state of an account's limits, for `explain` and for metrics. Changes nothing. */
import type { Admission, Admitted, Budget, Credential, RateLimit } from "../admission.ts";
import type { Budgets } from "./budgets.ts";
import type { Windows } from "./windows.ts";

export interface LimitStatusQuery {
	/** A token's own limits are added. */
	credential: Credential;
	rates: readonly RateLimit[];
	budgets: readonly Budget[];
	/** Adds the budgets of all tokens, if the caller may list them. */
	allTokens?: boolean;
	/** A hypothetical request: the status has the answer that it would receive. */
	request?: Pick<Admission, "model" | "unpriced" | "cost">;
}

export interface LimitStatus {
	/** UTC, `2026-11-21`. */
	day: string;
	/** Open requests. */
	open: number;
	/** Budgets of tokens that are left out, because there are more than a report has. Absent: none. */
	omitted?: number;
	/** Leases that isolates have not returned. */
	leases: number;
	budgets: (Budget & {
		/** The name of the token that has the budget. */
		name?: string;
		spentMicroNeurons: number;
		reservedMicroNeurons: number;
		remainingMicroNeurons: number;
	})[];
	/** `used`: admitted during the last minute. */
	rates: (RateLimit & { used: number; remaining: number })[];
	/** The answer that the request would receive, if the query has one. */
	answer?: Admitted;
}

/** Each has several lines on the page of metrics. */
const MAX_TOKEN_BUDGETS = 200;

/** Adds the budgets of tokens, those first of which the largest part is used. */
export function withTokenBudgets(
	status: LimitStatus,
	tokens: readonly (Budget & { name: string })[],
	budgets: Budgets,
): LimitStatus {
	const used = (budget: Budget): number => 1 - budgets.remaining(budget) / Math.max(1, budget.microNeurons);
	const listed = [...tokens].sort((a, b) => used(b) - used(a)).slice(0, MAX_TOKEN_BUDGETS);
	const omitted = tokens.length - listed.length;
	return {
		...status,
		budgets: [...status.budgets, ...balancesOf(listed, budgets)],
		...(omitted > 0 && { omitted }),
	};
}

/** The use of each limit. */
export const usedOf = (
	limits: { budgets: readonly Budget[]; rates: readonly RateLimit[] },
	{ budgets, windows, now }: { budgets: Budgets; windows: Windows; now: number },
): Pick<LimitStatus, "budgets" | "rates"> => ({
	budgets: balancesOf(limits.budgets, budgets),
	rates: limits.rates.map((rate) => {
		const used = windows.used(rate.key, now);
		return { ...rate, used, remaining: Math.max(0, rate.perMinute - used) };
	}),
});

const balancesOf = (limits: readonly Budget[], budgets: Budgets): LimitStatus["budgets"] =>
	limits.map((budget) => {
		const { spent, reserved } = budgets.balance(budget);
		return {
			...budget,
			spentMicroNeurons: spent,
			reservedMicroNeurons: reserved,
			remainingMicroNeurons: budgets.remaining(budget),
		};
	});
