/** The token of a request, for the ledger. */
import type { Budget, BudgetPeriod, RateLimit } from "../admission.ts";
import type { TokenLimits } from "../token-command.ts";

/** A valid token and its own limits. */
export interface VerifiedToken {
	id: string;
	limits: TokenLimits;
}

/** Adds the token's own limits to those of the account and the model. */
export function withTokenLimits(
	{ budgets, rates }: { budgets: readonly Budget[]; rates: readonly RateLimit[] },
	token: VerifiedToken | undefined,
): { budgets: readonly Budget[]; rates: readonly RateLimit[] } {
	if (!token) return { budgets, rates };
	const { id, limits } = token;
	const key = `token:${id}`;
	const { dailyMicroNeurons, monthlyMicroNeurons, requestsPerMinute: perMinute } = limits;
	const budget = (microNeurons: number | undefined, period?: BudgetPeriod): Budget[] =>
		microNeurons === undefined
			? []
			: [{ key, microNeurons, failure: "budgetExceeded", ...(period && { period }) }];
	return {
		budgets: [...budgets, ...budget(dailyMicroNeurons), ...budget(monthlyMicroNeurons, "month")],
		rates: perMinute === undefined ? rates : [...rates, { key, perMinute }],
	};
}
