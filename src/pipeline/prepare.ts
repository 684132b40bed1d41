/** The steps of a request before its account is asked, in order. They read nothing but the configuration and the aliases. */
import type { Model } from "../models/model.ts";
import type { TaskCall } from "../tasks/task.ts";
import { checkContext } from "../tasks/traits.ts";
import { refuseByPlan } from "./account-plan.ts";
import { type EstimatedCost, estimateCost } from "./cost-estimate.ts";
import { limitsOf } from "./limits.ts";
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
