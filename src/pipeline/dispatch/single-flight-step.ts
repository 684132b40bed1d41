/** `x-ganglion-single-flight`: identical requests of one account that are under way share one answer. */
import type { AnswerRequest } from "../prepare.ts";
import type { EngineAnswer } from "../request.ts";
import type { PipelineServices } from "../services.ts";
import { requestKey } from "./request-key.ts";

/** `callEngines`: answers a request that shares no answer, or the first of identical ones. */
export async function singleFlight(
	request: AnswerRequest,
	services: Pick<PipelineServices, "flights" | "now" | "wait" | "waitUntil">,
	callEngines: (request: AnswerRequest) => Promise<EngineAnswer>,
): Promise<EngineAnswer> {
	const { model, call, signal } = request;
	const { caller } = request.request;
	const key = await requestKey(caller.account, model.id, call);
	if (key === undefined) return callEngines(request);
	const { owner, value } = await services.flights.join(key, signal, services, (signal) =>
		callEngines({ ...request, signal }),
	);
	if (owner) return value;
	const { answer, served } = value;
	return { call, answer: structuredClone(answer), served: { ...served, wasted: [], shared: true } };
}
