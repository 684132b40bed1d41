/**
 * Answers an admitted call: by the engines of its plan, or by a step in front of them. Such a step receives the call and the
 * next step; it may answer itself, change the call, or look at the answer. A cache and guardrails are steps of this kind.
 */
import { present } from "../core/present.ts";
import type { AnswerRequest, AnswerStep } from "./answer-step.ts";
import { countArrival } from "./dispatch/pool-capacity.ts";
import { singleFlight } from "./dispatch/single-flight-step.ts";
import { dispatch } from "./dispatch.ts";
import { withEngineFields } from "./engine-fields.ts";
import type { Exchange } from "./exchange.ts";
import type { Plan } from "./plan.ts";
import type { Dispatched } from "./request.ts";
import { route } from "./route.ts";
import type { Services } from "./services.ts";
import { decideStream } from "./stream-mode.ts";
import { wakePool } from "./wake-pool.ts";

/** In front of the engines, outermost first. */
const STEPS: readonly AnswerStep[] = [singleFlight];

export function answer(exchange: Exchange, request: AnswerRequest, services: Services): Promise<Dispatched> {
	const from = (index: number, current: AnswerRequest): Promise<Dispatched> => {
		const step = STEPS[index];
		return step
			? step(current, services, (next) => from(index + 1, next))
			: callEngines(exchange, current, services);
	};
	return from(0, request);
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
	const firstPlan = route(model.id, routed, services, session);
	countArrival(firstPlan);
	const waking = wakePool(firstPlan, { routed, signal, mayWait: !options?.rejectIfBusy }, services);
	const routedPlan = waking ? await waking : firstPlan;
	const sender = { account: exchange.account, priority: options?.priority ?? "interactive" } as const;
	const extending = withEngineFields(routedPlan, sender);
	const planned = extending ? await extending : routedPlan;
	const plan = options?.rejectIfBusy ? withoutWaiting(planned) : planned;
	const formatStreamError = decideStream(plan, answering, model)?.formatStreamError;
	const context = { exchange, model, signal, ...present({ formatStreamError, session, options }) };
	return dispatch(plan, call, context, services);
}

/** One call of each target, without pauses. */
const withoutWaiting = (plan: Plan): Plan => ({ ...plan, retries: { ...plan.retries, attempts: 1 } });
