/** Whose token it is, to the ledger, and what the token itself allows. */
import type { Budget, BudgetPeriod, RateLimit } from "../admission.ts";
import type { TokenLimits } from "../token-command.ts";

/** A token that holds, and its own limits. */
export interface VerifiedToken {
	id: string;
	limits: TokenLimits;
}

/** A token's own limits, beside those of the account and the model. */
export function withTokenLimits(
	{ budgets, rates }: { budgets: readonly Budget[]; rates: readonly RateLimit[] },
	bearer: VerifiedToken | undefined,
): { budgets: readonly Budget[]; rates: readonly RateLimit[] } {
	if (!bearer) return { budgets, rates };
	const { id, limits } = bearer;
	const key = `token:${id}`;
	const { dailyMicroNeurons, monthlyMicroNeurons, requestsPerMinute: perMinute } = limits;
	const own = (microNeurons: number | undefined, period?: BudgetPeriod): Budget[] =>
		microNeurons === undefined
			? []
			: [{ key, microNeurons, failure: "budgetExceeded", ...(period && { period }) }];
	return {
		budgets: [...budgets, ...own(dailyMicroNeurons), ...own(monthlyMicroNeurons, "month")],
		rates: perMinute === undefined ? rates : [...rates, { key, perMinute }],
	};
}
