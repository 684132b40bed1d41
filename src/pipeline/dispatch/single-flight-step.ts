/** `x-ganglion-single-flight`: identical requests of one account that are under way share one answer. */
import type { AnswerStep } from "../answer-step.ts";
import { requestKey } from "./request-key.ts";

export const singleFlight: AnswerStep = async (request, services, next) => {
	const { model, call, signal } = request;
	const { caller } = request.request;
	const key = await requestKey(caller.account, model.id, call);
	if (key === undefined) return next(request);
	const { owner, value } = await services.flights.join(key, signal, services, (signal) =>
		next({ ...request, signal }),
	);
	if (owner) return value;
	const { answer, served } = value;
	return { call, answer: structuredClone(answer), served: { ...served, wasted: [], shared: true } };
};
