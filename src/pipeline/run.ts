/**
 * The path of one request, top to bottom: each step is one call, and this file alone knows their order. A failing
 * step throws an `AiError`; the surface renders it.
 */
import type { InferenceRequest, Reply, Services } from "../request.ts";
import { authorize } from "./authorize.ts";
import { dispatch } from "./dispatch.ts";
import { fitContext } from "./fit.ts";
import { parse } from "./parse.ts";
import { route } from "./route.ts";

export async function run(request: InferenceRequest, services: Services): Promise<Reply> {
	const model = authorize(request.model, services); // first: the model names the dialect
	const { reader, writer } = request.dialect(model);
	const { inputs, call } = await parse(request.inputs, reader, model);
	fitContext(call, model);
	const plan = route(model.id, services);
	const context = { model, signal: request.signal, requestId: request.id };
	const { answer, backend } = await dispatch(plan, call, context, services);
	const { now, uuid } = services;
	const body = writer.write(answer, { model, inputs, call, now: now(), requestId: request.id, uuid });
	return { model, backend, body };
}
