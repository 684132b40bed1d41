/** Answers an admitted call: from an identical request in progress, or by the engines of its plan. */
import { present } from "../core/present.ts";
import type { AnswerRequest } from "./answer-step.ts";
import { countArrival } from "./dispatch/pool-capacity.ts";
import { singleFlight } from "./dispatch/single-flight-step.ts";
import { dispatch } from "./dispatch.ts";
import { withEngineFields } from "./engine-fields.ts";
import type { Exchange } from "./exchange.ts";
import { isPooled, type Plan } from "./plan.ts";
import type { Dispatched } from "./request.ts";
import { route } from "./route.ts";
import type { Services } from "./services.ts";
import { decideStream } from "./stream-mode.ts";
import { wakePool } from "./wake-pool.ts";

export function answer(exchange: Exchange, request: AnswerRequest, services: Services): Promise<Dispatched> {
	const call = (current: AnswerRequest) => callEngines(exchange, current, services);
	return request.request.options?.singleFlight ? singleFlight(request, services, call) : call(request);
}

async function callEngines(
	exchange: Exchange,
	answering: AnswerRequest,
	services: Services,
): Promise<Dispatched> {
	const { request, model, routed, call, signal } = answering;
	const { options, session } = request;
	// Usually nothing is due.
	const reading = services.pools.refresh(routed?.targets ?? []);
	if (reading) await reading;
	let plan = route(model.id, routed, services, session);
	if (plan.targets.some(isPooled)) {
		countArrival(plan);
		const { anyModel, backend, pool } = plan.targets.find(isPooled) ?? {};
		if (pool?.settings.preload && !anyModel && backend !== undefined)
			services.pools.demandReports?.add({ backend, model: model.id, task: call.task });
		const waking = { routed, signal, mayWait: !options?.rejectIfBusy };
		const woken = wakePool(plan, waking, services);
		if (woken) plan = await woken;
		const sender = { account: exchange.account, priority: options?.priority ?? "interactive" } as const;
		const extended = withEngineFields(plan, sender);
		if (extended) plan = await extended;
	}
	if (options?.rejectIfBusy) plan = withoutWaiting(plan);
	const { unchangedStreams } = services;
	const decided = decideStream(plan, { ...answering, options }, (...engine) =>
		unchangedStreams.canPass(...engine),
	);
	const streamEnd = decided?.streamEnd;
	const context = { exchange, model, signal, ...present({ streamEnd, session, options }) };
	return dispatch(plan, call, context, services);
}

/** One call of each target, without pauses. */
const withoutWaiting = (plan: Plan): Plan => ({ ...plan, retries: { ...plan.retries, attempts: 1 } });
