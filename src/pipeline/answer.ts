/** Answers an admitted call: from an identical request in progress, or by the engines of its plan. */
import type { DispatchContext } from "./dispatch/dispatch-state.ts";
import { countArrival } from "./dispatch/pool-capacity.ts";
import { singleFlight } from "./dispatch/single-flight-step.ts";
import { dispatch } from "./dispatch.ts";
import { withEngineFields } from "./engine-fields.ts";
import type { Exchange } from "./exchange.ts";
import { isPooled, type Plan } from "./plan.ts";
import type { AnswerRequest } from "./prepare.ts";
import type { EngineAnswer } from "./request.ts";
import { route } from "./route.ts";
import type { PipelineServices } from "./services.ts";
import { decideStream } from "./stream-mode.ts";
import { wakePool } from "./wake-pool.ts";

export function answer(
	exchange: Exchange,
	request: AnswerRequest,
	services: PipelineServices,
): Promise<EngineAnswer> {
	if (!request.request.options?.singleFlight) return callEngines(exchange, request, services);
	return singleFlight(request, services, (current) => callEngines(exchange, current, services));
}

async function callEngines(
	exchange: Exchange,
	answering: AnswerRequest,
	services: PipelineServices,
): Promise<EngineAnswer> {
	const { request, model, routed, call, signal } = answering;
	const { options, session } = request;
	await services.pools.refresh(routed?.targets ?? []);
	let plan = route(model.id, routed, services, session);
	if (plan.targets.some(isPooled)) plan = await preparePools(plan, exchange, answering, services);
	// One call of each target, without pauses.
	if (options?.rejectIfBusy) plan = { ...plan, retries: { ...plan.retries, attempts: 1 } };
	const decided = decideStream(plan, answering, services.unchangedStreams);
	const context: DispatchContext = { exchange, model, signal };
	if (decided?.streamEnd) context.streamEnd = decided.streamEnd;
	if (plan.coalesceMs !== undefined) context.coalesceMs = plan.coalesceMs;
	if (session !== undefined) context.session = session;
	if (options) context.options = options;
	return dispatch(plan, call, context, services);
}

/** Counts the request at its pools, wakes them if they sleep, and adds their fields to it. */
async function preparePools(
	plan: Plan,
	{ account }: Exchange,
	{ request: { options }, model, routed, call, signal }: AnswerRequest,
	services: PipelineServices,
): Promise<Plan> {
	countArrival(plan);
	const { anyModel, backend, pool } = plan.targets.find(isPooled) ?? {};
	if (pool?.settings.preload && !anyModel && backend !== undefined)
		services.pools.demandReports?.add({ backend, model: model.id, task: call.task });
	const waking = { routed, signal, mayWait: !options?.rejectIfBusy };
	const awake = (await wakePool(plan, waking, services)) ?? plan;
	const sender = { account, priority: options?.priority ?? "interactive" } as const;
	return (await withEngineFields(awake, sender)) ?? awake;
}
