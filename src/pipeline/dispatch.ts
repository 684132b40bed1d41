/**
 * Walks a plan to the first target that answers, and goes on with the next where a stream is cut (`dispatch/`). What
 * fails for good ends the walk; what another may do better goes on.
 */

import type { TaskAnswer, TaskCall } from "../tasks/task.ts";
import {
	type DispatchContext as AskContext,
	concludeStream,
	type DispatchServices,
	Journey,
} from "./dispatch/dispatch-state.ts";
import { begin } from "./dispatch/first-response.ts";
import { identityOf } from "./dispatch/request-key.ts";
import { splice } from "./dispatch/stream-failover.ts";
import type { Plan } from "./plan.ts";
import type { Served } from "./request.ts";
import type { Services } from "./services.ts";

export interface DispatchContext extends AskContext {
	/** The account within which an identical request may share this one's answer. */
	shareWithin?: string;
}

export interface Dispatched {
	answer: TaskAnswer;
	/** Changes while a stream is read. */
	served: Served;
}

export async function dispatch(
	plan: Plan,
	call: TaskCall,
	context: DispatchContext,
	services: DispatchServices & Pick<Services, "flights" | "waitUntil">,
): Promise<Dispatched> {
	const { model, shareWithin, signal } = context;
	const identity = shareWithin === undefined ? undefined : await identityOf(shareWithin, model.id, call);
	if (identity === undefined) return ask(plan, call, context, services);
	const { owner, value } = await services.flights.join(identity, signal, services, (signal) =>
		ask(plan, call, { ...context, signal }, services),
	);
	if (owner) return value;
	const { answer, served } = value;
	return { answer: structuredClone(answer), served: { ...served, wasted: [], shared: true } };
}

async function ask(
	plan: Plan,
	call: TaskCall,
	context: AskContext,
	services: DispatchServices,
): Promise<Dispatched> {
	const journey = await Journey.through(plan, call, context, services);
	const begun = await begin(journey);
	const { answer } = begun;
	const { served } = journey;
	journey.settleOn(begun.target);
	// A lone target's stream passes as it is: nobody could go on.
	const passes = answer.kind === "value" || call.task !== "text-generation" || !journey.goesOn;
	const ended = answer.kind === "stream" ? answer.ended : undefined;
	if (passes) begun.trial.succeed();
	else if (ended) void ended.then((failure) => concludeStream(begun.trial, failure));
	const given = passes || ended ? answer : splice(begun, answer, call.input, journey);
	return { answer: { task: call.task, answer: given } as TaskAnswer, served };
}
