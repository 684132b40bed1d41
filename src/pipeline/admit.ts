/**
 * Admits a request, from a lease of this isolate or by one call of the account's object: it verifies the credential, counts
 * the request against its rates and reserves what it may cost. The exchange then holds the reservation and settles it when it
 * ends. A reservation that is never settled is charged in full some time after `holdMs`; a late settlement replaces the charge.
 */
import type { Admission, AdmissionGrant } from "../accounts/admission.ts";
import { GatewayRequired } from "../accounts/bound-gateway.ts";
import { toAiError } from "../core/errors.ts";
import type { Model } from "../models/model.ts";
import type { TaskCall } from "../tasks/task.ts";
import { boundOutput } from "../tasks/traits.ts";
import type { Exchange } from "./exchange.ts";
import { limitsOf, rulesOf } from "./limits.ts";
import { type EstimatedRun, isUnpriced } from "./prepare.ts";
import type { InferenceRequest } from "./request.ts";
import type { PipelineServices } from "./services.ts";

type AdmissionRequest = Pick<InferenceRequest, "id" | "caller">;

/** The call, with less output than requested if a budget has no room for more. Throws `AiError` if the account refuses the request. */
export async function admit(
	exchange: Exchange,
	request: AdmissionRequest,
	{ call, model, routed, estimated }: Pick<EstimatedRun, "call" | "model" | "routed" | "estimated">,
	{ limits }: Pick<PipelineServices, "limits">,
): Promise<TaskCall> {
	const admission = admissionOf(request, { model, routed, estimated }, limits);
	const { outputTokens } = await admitExchange(exchange, { admission, model });
	// An engine that receives the output limit cannot cost more than was reserved.
	return outputTokens === undefined ? call : boundOutput(call, outputTokens);
}

/** Waits for a place, if the process has none free. Throws `AiError` if there is none, or if the account refuses the request. */
export async function admitExchange(
	exchange: Exchange,
	{ admission, model }: { admission: Admission; model: Model },
): Promise<AdmissionGrant> {
	const place = exchange.reserve(admission, model);
	if (place) await place;
	const { ledger } = exchange;
	try {
		const granted = ledger.admitFromLease(admission) ?? (await ledger.admit(admission));
		exchange.admit(granted);
		return granted;
	} catch (thrown) {
		const refusal = toAiError(thrown);
		// The surface runs the request again, in the gateway.
		if (admission.credential.gateway === null && refusal instanceof GatewayRequired) exchange.dismiss();
		else exchange.refuse(refusal);
		throw refusal;
	}
}

/** The request in the terms of the account's object. */
export function admissionOf(
	{ id, caller: { account, credential } }: AdmissionRequest,
	{ model, routed, estimated }: Pick<EstimatedRun, "model" | "routed" | "estimated">,
	limits: PipelineServices["limits"],
): Admission {
	const { rates, budgets } = rulesOf(model, limitsOf(limits, account));
	const { inputTokens: _, ...cost } = estimated;
	return {
		ticket: id,
		credential,
		model: model.id,
		task: model.task,
		rates,
		budgets,
		cost,
		...(credential.kind === "token" && isUnpriced(model, routed) && { unpriced: true as const }),
		holdMs: limits.holdMs,
	};
}
