/** What a request may cost at most: the amount to reserve. */
import type { CostEstimate } from "../accounts/admission.ts";
import { estimate } from "../metering/measure.ts";
import type { Model } from "../models/model.ts";
import { microNeurons, microNeuronsPerOutputToken } from "../models/neurons.ts";
import type { TaskCall } from "../tasks/task.ts";
import { choicesOf } from "../tasks/traits.ts";
import type { Routed } from "./plan.ts";

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
