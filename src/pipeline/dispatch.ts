/**
 * Walks a plan to the first target that answers, and goes on with the next where a stream is cut (`dispatch/`). What
 * fails for good ends the walk; what another may do better goes on.
 */
import type { Plan, Served } from "../request.ts";
import type { TaskAnswer, TaskCall } from "../tasks/task.ts";
import { begin } from "./dispatch/begin.ts";
import { type DispatchContext, type DispatchServices, Journey } from "./dispatch/journey.ts";
import { splice } from "./dispatch/splice.ts";

export type { DispatchContext, DispatchServices };

export interface Dispatched {
	answer: TaskAnswer;
	/** Changes while a stream is read. */
	served: Served;
}

export async function dispatch(
	plan: Plan,
	call: TaskCall,
	context: DispatchContext,
	services: DispatchServices,
): Promise<Dispatched> {
	const journey = new Journey(plan, call, context, services);
	const begun = await begin(journey);
	const { answer } = begun;
	const { served } = journey;
	journey.settleOn(begun.target);
	// A lone target's stream passes as it is: nobody could go on.
	const passes = answer.kind === "value" || call.task !== "text-generation" || !journey.goesOn;
	if (passes) begun.trial.succeed();
	const given = passes ? answer : splice(begun, answer, call.input, journey);
	return { answer: { task: call.task, answer: given } as TaskAnswer, served };
}
