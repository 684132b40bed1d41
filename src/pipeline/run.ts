/**
 * The path of one request, top to bottom: each step is one call, and this file alone knows their order. A failing
 * step throws an `AiError`; the surface renders it.
 */
import { toAiError } from "../errors.ts";
import type { InferenceRequest, Plan, Reply, Served, Services } from "../request.ts";
import type { TaskCall } from "../tasks/task.ts";
import { admit, checkPlan, limitsOf } from "./admit.ts";
import { askAhead } from "./ahead.ts";
import { modelOf } from "./aliases.ts";
import { authorize } from "./authorize.ts";
import { dispatch } from "./dispatch.ts";
import { fitContext } from "./fit.ts";
import { type Metered, meter } from "./meter.ts";
import { parse } from "./parse.ts";
import { route } from "./route.ts";

export async function run(request: InferenceRequest, services: Services): Promise<Reply> {
	const id = await modelOf(request.model, request.caller, services);
	const model = authorize(id, services); // first: the model names the dialect
	checkPlan(model, limitsOf(services.limits, request.caller.account), services.routing);
	const { reader, writer } = request.dialect(model);
	const routed = services.routing.find(model.id);
	const strict = routed?.strict ?? false;
	const { inputs, call: asked } = await parse(request.inputs, reader, { model, strict });
	fitContext(asked, model, routed);
	const { ticket, ...entry } = await admit(request, model, asked, services);
	let tried: Served = { backend: "", model: "", attempts: 0, wasted: [] };
	let metered: Metered | undefined;
	try {
		const { caller, options } = request;
		const {
			answer: given,
			call,
			served,
		} = await askAhead(entry, request.signal, async (call, signal) => {
			const planned = route(model.id, services, request.session);
			const plan = options?.rejectIfBusy ? withoutWaiting(planned) : planned;
			const lastWords = plan.passthrough && writer.passesOn?.(call, model);
			// Of one who was asked for nothing, nothing but the calls counts.
			tried = { backend: "", model: "", attempts: tried.attempts, wasted: [] };
			const asking = {
				model,
				signal,
				requestId: request.id,
				account: caller.account,
				served: tried,
				...(options?.singleFlight && { shareWithin: caller.account }),
				...(lastWords && { lastWords }),
			};
			return dispatch(plan, call, asking, services);
		});
		const passing = { model, ticket, served, requestId: request.id };
		metered = await meter(given, call, passing, services);
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
		// Nobody has taken over what was to be written.
		metered?.abandon();
		throw error;
	}
}

const droppedOf = (call: TaskCall): Reply["dropped"] =>
	call.task === "text-generation" && call.input.dropped?.length ? call.input.dropped : undefined;

/** Each engine is asked once. */
const withoutWaiting = (plan: Plan): Plan => ({ ...plan, retries: { ...plan.retries, attempts: 1 } });
