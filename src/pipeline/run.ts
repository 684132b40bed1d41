/**
 * The steps of one request, in order; `explain.ts` takes the same steps without calling an engine. A step that fails
 * throws an `AiError`, which the surface renders.
 */
import { toAiError } from "../core/errors.ts";
import type { TaskCall } from "../tasks/task.ts";
import { admit, checkPlan, limitsOf } from "./admit.ts";
import { fitContext } from "./context-window.ts";
import { dispatch } from "./dispatch.ts";
import { type Metered, meter } from "./meter.ts";
import { parse } from "./parse.ts";
import type { Plan } from "./plan.ts";
import type { InferenceRequest, Reply, Served } from "./request.ts";
import { resolveModel } from "./resolve-model.ts";
import { route } from "./route.ts";
import type { Services } from "./services.ts";
import { askAhead } from "./speculative-dispatch.ts";

export async function run(request: InferenceRequest, services: Services): Promise<Reply> {
	const model = await resolveModel(request.model, request.caller, services); // first: the model names the dialect
	checkPlan(model, limitsOf(services.limits, request.caller.account), services.routing);
	const { reader, writer } = request.dialect(model);
	const routed = services.routing.find(model.id);
	const strict = routed?.strict ?? false;
	const { inputs, call: parsed } = await parse(request.inputs, reader, { model, strict });
	fitContext(parsed, model, routed);
	const { ticket, ...entry } = await admit(request, model, parsed, services);
	let tried: Served = { backend: "", model: "", attempts: 0, wasted: [] };
	let metered: Metered | undefined;
	try {
		const { caller, options } = request;
		const {
			answer: engineAnswer,
			call,
			served,
		} = await askAhead(entry, request.signal, async (call, signal) => {
			const planned = route(model.id, services, request.session);
			const plan = options?.rejectIfBusy ? withoutWaiting(planned) : planned;
			const formatStreamError = plan.passthrough && writer.passesOn?.(call, model);
			// A second dispatch: of the first one only the number of calls is kept.
			tried = { backend: "", model: "", attempts: tried.attempts, wasted: [] };
			const asking = {
				model,
				signal,
				requestId: request.id,
				account: caller.account,
				served: tried,
				...(options?.singleFlight && { shareWithin: caller.account }),
				...(formatStreamError && { formatStreamError }),
			};
			return dispatch(plan, call, asking, services);
		});
		const passing = { model, ticket, served, requestId: request.id };
		metered = await meter(engineAnswer, call, passing, services);
		const { answer, neurons, priced } = metered;
		const { now, uuid } = services;
		const cost = neurons === undefined ? {} : { neurons };
		const context = { model, inputs, call, now: now(), requestId: request.id, uuid, priced };
		const dropped = droppedOf(call);
		return {
			model,
			served,
			...cost,
			...(dropped && { dropped }),
			body: writer.write(answer, { ...context, ...cost }),
		};
	} catch (thrown) {
		const error = toAiError(thrown);
		error.attempts = tried.attempts;
		ticket.fail(error, { backend: error.upstream?.backend ?? "", attempts: tried.attempts });
		// The writer failed, so the answer has no reader.
		metered?.abandon();
		throw error;
	}
}

const droppedOf = (call: TaskCall): Reply["dropped"] =>
	call.task === "text-generation" && call.input.dropped?.length ? call.input.dropped : undefined;

/** One call of each target, without pauses. */
const withoutWaiting = (plan: Plan): Plan => ({ ...plan, retries: { ...plan.retries, attempts: 1 } });
