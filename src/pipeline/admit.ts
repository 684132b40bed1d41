/**
 * Admits a request, from a lease of this isolate or by one call of the account's object: it verifies the credential, counts
 * the request against its rates and reserves what it may cost. The exchange then holds the reservation and settles it when it
 * ends. A reservation that is never settled is charged in full some time after `holdMs`.
 *
 * While the account is far below its limits, the request does not wait for the decision (`speculative-dispatch.ts`).
 */
import type { Admission, Granted } from "../accounts/admission.ts";
import { GatewayRequired } from "../accounts/bound-gateway.ts";
import { toAiError } from "../core/errors.ts";
import type { TaskCall } from "../tasks/task.ts";
import { boundOutput, isSession } from "../tasks/traits.ts";
import type { Exchange } from "./exchange.ts";
import { limitsOf, rulesOf } from "./limits.ts";
import { isUnpriced, type Prepared } from "./prepare.ts";
import type { InferenceRequest } from "./request.ts";
import type { PipelineServices } from "./services.ts";
import type { AdmittedCall } from "./speculative-dispatch.ts";

type AdmissionRequest = Pick<InferenceRequest, "id" | "caller" | "options">;

/** Returns no promise if the request has a place and a lease admits it. Throws `AiError` if the account refuses the request. */
export function admit(
	exchange: Exchange,
	request: AdmissionRequest,
	{ call, model, routed, estimated }: Pick<Prepared, "call" | "model" | "routed" | "estimated">,
	services: Pick<PipelineServices, "ledgers" | "limits">,
): AdmittedCall | Promise<AdmittedCall> {
	const admission = admissionOf(request, { model, routed, estimated }, services.limits);
	const place = exchange.reserve(admission, model);
	const reserved = { exchange, call, admission, options: request.options };
	return place ? place.then(() => decide(reserved, services)) : decide(reserved, services);
}

interface ReservedRequest {
	exchange: Exchange;
	call: TaskCall;
	admission: Admission;
	options: InferenceRequest["options"];
}

function decide(
	{ exchange, call, admission, options }: ReservedRequest,
	{ ledgers, limits }: Pick<PipelineServices, "ledgers" | "limits">,
): AdmittedCall | Promise<AdmittedCall> {
	const ledger = ledgers.of(exchange.account);
	const leased = ledger.admitFromLease(admission);
	if (leased) {
		exchange.admit(leased);
		return { call: limitOutput(call, leased) };
	}
	const decided = async (decision: Promise<Granted>): Promise<Granted> => {
		try {
			const granted = await decision;
			exchange.admit(granted);
			return granted;
		} catch (thrown) {
			const refusal = toAiError(thrown);
			// The surface runs the request again, in the gateway.
			if (admission.credential.gateway === null && refusal instanceof GatewayRequired) exchange.dismiss();
			else exchange.refuse(refusal);
			throw refusal;
		}
	};
	// Live sessions and single-flight leaders wait for admission: neither may start unpaid.
	const waits = isSession(call) || options?.singleFlight || !limits.speculation;
	const speculation = waits ? undefined : ledger.speculate(admission);
	if (!speculation)
		return decided(ledger.admit(admission)).then((granted) => ({ call: limitOutput(call, granted) }));
	const expected = limitOutput(call, speculation.expected);
	const decision = decided(speculation.decision).then((granted) =>
		granted.outputTokens === speculation.expected.outputTokens ? expected : limitOutput(call, granted),
	);
	// A refusal may come before the dispatch waits for it.
	decision.catch(() => {});
	return { call: expected, speculation: { decision, requireDecision: speculation.requireDecision } };
}

/** An engine that receives the output limit cannot cost more than was reserved. */
const limitOutput = (call: TaskCall, { outputTokens }: Granted): TaskCall =>
	outputTokens === undefined ? call : boundOutput(call, outputTokens);

/** The request in the terms of the account's object. */
export function admissionOf(
	{ id, caller: { account, credential } }: Pick<InferenceRequest, "id" | "caller">,
	{ model, routed, estimated }: Pick<Prepared, "model" | "routed" | "estimated">,
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
