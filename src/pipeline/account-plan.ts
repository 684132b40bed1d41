/** Models that an account must not use: those of the paid plan, and those whose unknown price would bypass its budgets. */
import { describeUnpriced } from "../accounts/durable/budgets.ts";
import { AiError } from "../core/errors.ts";
import { can, type Model } from "../models/model.ts";
import { type AccountLimits, budgetsOf } from "./limits.ts";
import type { Routed } from "./plan.ts";

/** The budget of a token is checked by the account's object. */
export function refuseByPlan(model: Model, limits: AccountLimits, routed: Routed | undefined): undefined {
	if (isUnpriced(model, routed) && budgetsOf(model, limits).length > 0)
		throw new AiError("missingProviderKey", describeUnpriced(model.id, "account"));
	if (limits.plan === "free" && can(model, "require_workers_paid"))
		throw new AiError(
			"paidPlanRequired",
			`Model ${model.id} is not available on the Workers Free plan. Upgrade to access this model: LIMITS.plan`,
		);
}

/** The model has no price, and its requests may cost the operator an unknown amount. */
export const isUnpriced = ({ prices }: Pick<Model, "prices">, routed: Routed | undefined): boolean =>
	prices.length === 0 && routed?.billed === true;
