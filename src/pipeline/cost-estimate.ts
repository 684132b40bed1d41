/** What a request may cost at most: the amount to reserve. */
import type { Worth } from "../accounts/admission.ts";
import { estimate } from "../metering/estimate.ts";
import type { Model } from "../models/model.ts";
import { microNeurons, microNeuronsPerOutputToken } from "../models/neurons.ts";
import type { TaskCall } from "../tasks/task.ts";
import type { Routed } from "./plan.ts";

export interface CostEstimate {
	worth: Worth;
	/** 0 for a model that is not priced by tokens. */
	inputTokens: number;
}

export async function estimateCost(
	call: TaskCall,
	model: Model,
	routed: Routed | undefined,
): Promise<CostEstimate> {
	const { fixed, outputTokens, outputUnbounded } = await estimate(call, model);
	const choices = choicesOf(call);
	// A hedged request may run on two engines, and both are paid.
	const engines = isHedged(routed) ? 2 : 1;
	return {
		inputTokens: fixed.inputTokens ?? 0,
		worth: {
			fixedMicroNeurons: engines * microNeurons(model.prices, fixed),
			microNeuronsPerOutputToken: engines * microNeuronsPerOutputToken(model.prices),
			outputTokens,
			...(choices > 1 && { leastOutputTokens: choices }),
			open: outputUnbounded,
		},
	};
}

function isHedged(routed: Routed | undefined): boolean {
	if (routed?.settings?.hedgeMs === undefined) return false;
	return routed.targets.reduce((sum, { urls }) => sum + urls.length, 0) > 1;
}

/**
 * The call with at most this many output tokens over all choices of its reply: an engine that receives the limit cannot cost
 * more than was reserved.
 */
export function boundOutput(call: TaskCall, outputTokens: number | undefined): TaskCall {
	if (outputTokens === undefined || call.task !== "text-generation") return call;
	const each = Math.max(1, Math.floor(outputTokens / choicesOf(call)));
	const { max_tokens = each } = call.input;
	return { ...call, input: { ...call.input, max_tokens: Math.min(max_tokens, each) } };
}

/** The output limit applies to each choice. */
const choicesOf = (call: TaskCall): number => (call.task === "text-generation" ? (call.input.n ?? 1) : 1);
