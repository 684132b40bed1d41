/** The steps of a request before admission, in order. They read only the configuration and the aliases. */

import type { CostEstimate } from "../accounts/admission.ts";
import { describeUnpriced } from "../accounts/durable/budgets.ts";
import { AiError } from "../core/errors.ts";
import { estimate } from "../metering/measure.ts";
import { can, type Model } from "../models/model.ts";
import { microNeurons, microNeuronsPerOutputToken } from "../models/neurons.ts";
import type { TaskCall } from "../tasks/task.ts";
import { checkContext, choicesOf } from "../tasks/traits.ts";
import { type AccountLimits, budgetsOf, limitsOf } from "./limits.ts";
import { type Parsed, parse } from "./parse.ts";
import type { Routed } from "./plan.ts";
import type { InferenceRequest } from "./request.ts";
import { type ResolvedModel, resolveModel } from "./resolve-model.ts";
import type { Services } from "./services.ts";

/** The steps, and the result of each. */
export interface PreparationSteps {
	authorize: ResolvedModel;
	plan: undefined;
	parse: Parsed;
	fit: undefined;
	estimate: EstimatedCost;
}

export type Prepared = ResolvedModel & Parsed & { estimated: EstimatedCost };

/** Runs one step. `explain.ts` has a runner that records the failures of all steps. */
export type StepRunner = <Name extends keyof PreparationSteps>(
	name: Name,
	work: () => PreparationSteps[Name] | Promise<PreparationSteps[Name]>,
) => PreparationSteps[Name] | Promise<PreparationSteps[Name]>;

export async function prepare(
	request: InferenceRequest,
	services: Services,
	step: StepRunner = (_, work) => work(),
): Promise<Prepared> {
	const { caller, inputs } = request;
	// First, because the model decides the dialect.
	const resolved = await step("authorize", () => resolveModel(request.model, caller, services));
	const { model, routed } = resolved;
	await step("plan", () => refuseByPlan(model, limitsOf(services.limits, caller.account), routed));
	const parsed = await step("parse", () => parse(inputs, request.dialect(model), resolved));
	await step("fit", () => fitContext(parsed.call, model, routed));
	const estimated = await step("estimate", () => estimateCost(parsed.call, model, routed));
	return { ...resolved, ...parsed, estimated };
}

/** Checks that the call can fit the model's context window (5021), before it is reserved. */
export function fitContext(
	call: TaskCall,
	model: Model,
	routed: Pick<Routed, "targets"> | undefined,
): undefined {
	// The simulator counts tokens as the gateway does. For other engines the count is an estimate.
	const isExact = routed?.targets.every(({ kind }) => kind === "simulator") ?? false;
	checkContext(call, model, isExact);
}

/**
 * Refuses models of the paid plan, and models whose unknown price would bypass the account's budgets. The account's object checks
 * the budget of a token.
 */
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

/** The most that a request can cost: the amount to reserve. */
export interface EstimatedCost extends CostEstimate {
	/** 0 for a model that is not priced by tokens. */
	inputTokens: number;
}

export function estimateCost(call: TaskCall, model: Model, routed: Routed | undefined): EstimatedCost {
	const { fixed, outputTokens, outputUnbounded } = estimate(call, model);
	const choices = choicesOf(call);
	// A hedged request may run on two engines, and both are paid.
	const engines = isHedged(routed) ? 2 : 1;
	return {
		inputTokens: fixed.inputTokens ?? 0,
		fixedMicroNeurons: engines * microNeurons(model.prices, fixed),
		microNeuronsPerOutputToken: engines * microNeuronsPerOutputToken(model.prices),
		outputTokens,
		...(choices > 1 && { minOutputTokens: choices }),
		outputUnbounded,
	};
}

function isHedged(routed: Routed | undefined): boolean {
	if (routed?.settings?.hedgeMs === undefined) return false;
	return routed.targets.reduce((sum, { urls }) => sum + urls.length, 0) > 1;
}
