/** Decides about a request by all limits that apply to it. Counts and reserves nothing. */
import type { Admission, Admitted } from "../admission.ts";
import { type Instant, nextMidnight, nextMonth } from "../clock.ts";
import { hasBudget } from "../token-command.ts";
import { type Budgets, describeRefusal, describeUnpriced, maxCost } from "./budgets.ts";
import { type LimitDecision, type LimitRefusal, longestRefusal } from "./limit-refusal.ts";
import type { LimitStatusQuery } from "./limit-status.ts";
import { type VerifiedToken, withTokenLimits } from "./verified-token.ts";
import type { Windows } from "./windows.ts";

export type LimitedRequest = Pick<Admission, "model" | "unpriced" | "cost"> &
	Pick<LimitStatusQuery, "budgets" | "rates">;

export interface AccountState {
	budgets: Budgets;
	windows: Windows;
}

/** No caller needs a larger number. */
const MAX_REMAINING = 1_000_000;

/** Whether the token has a budget of its own. */
export const isTokenLimited = (token: VerifiedToken | undefined): boolean =>
	token !== undefined && hasBudget(token.limits);

export function decide(
	request: LimitedRequest,
	token: VerifiedToken | undefined,
	{ budgets: balances, windows }: AccountState,
	instant: Instant,
): LimitDecision {
	const { model, unpriced } = request;
	const { now } = instant;
	const { budgets, rates } = withTokenLimits(request, token);
	const limited = isTokenLimited(token);
	const opens = windows.opensAt(rates, now);
	const grant = balances.grant(request.cost, budgets);
	const refusals: LimitRefusal[] = [];
	if (unpriced && limited)
		refusals.push({
			failure: "missingProviderKey",
			description: describeUnpriced(model, "token"),
			until: Number.POSITIVE_INFINITY,
		});
	if (opens > now) refusals.push({ failure: "rateLimited", until: opens });
	if (grant.kind === "refused") {
		const { budget, held, cost, remaining } = grant;
		const { failure, microNeurons, period } = budget;
		// The end of an open request is unknown, and a request that costs more than the complete budget is never admitted.
		const unknown = cost > microNeurons || cost <= remaining + held;
		refusals.push({
			failure,
			...(failure === "budgetExceeded" && { description: describeRefusal(grant) }),
			until: unknown ? Number.POSITIVE_INFINITY : period === "month" ? nextMonth(now) : nextMidnight(now),
		});
	}
	if (grant.kind === "refused" || refusals.length > 0)
		return { answer: longestRefusal(refusals, instant), rates, reserved: 0 };
	const { microNeurons: reserved, outputTokens } = grant;
	const answer: Admitted = {
		ok: true,
		...(outputTokens !== undefined && { outputTokens }),
		...(limited && { limited: true }),
	};
	return { answer, rates, reserved };
}

/** How many more requests like this one would be admitted now, at most {@link MAX_REMAINING}. */
export function remainingRequests(
	request: LimitedRequest,
	token: VerifiedToken | undefined,
	{ budgets: balances, windows }: AccountState,
	now: number,
): number {
	const { budgets, rates } = withTokenLimits(request, token);
	let remaining = MAX_REMAINING;
	for (const { key, perMinute } of rates)
		remaining = Math.min(remaining, Math.max(0, perMinute - windows.used(key, now)));
	const cost = maxCost(request.cost);
	if (cost > 0)
		for (const budget of budgets)
			remaining = Math.min(remaining, Math.floor(balances.remaining(budget) / cost));
	return remaining;
}
