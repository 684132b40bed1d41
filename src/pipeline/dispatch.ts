/**
 * Dispatches a call: waits for the capacity of a pool that has a limit, tries the targets of a plan until one answers, and continues
 * an interrupted stream with the next one (`dispatch/`). A failure that every target would repeat ends the request.
 */
import { loadBackends } from "../backends/index.ts";
import type { TaskAnswer, TaskCall } from "../tasks/task.ts";
import { isResumable } from "../tasks/traits.ts";
import { recordStreamEnd } from "./dispatch/call-outcome.ts";
import { type DispatchContext, DispatchState } from "./dispatch/dispatch-state.ts";
import { firstResponse } from "./dispatch/first-response.ts";
import { waitForCapacity } from "./dispatch/pool-capacity.ts";
import { withFailover } from "./dispatch/stream-failover.ts";
import { isPooled, type Plan } from "./plan.ts";
import type { EngineAnswer } from "./request.ts";
import type { DispatchServices } from "./services.ts";

export function dispatch(
	plan: Plan,
	call: TaskCall,
	context: DispatchContext,
	services: DispatchServices,
): Promise<EngineAnswer> {
	// Only pools have limits.
	return plan.targets.some(isPooled)
		? dispatchToPools(plan, call, context, services)
		: start(plan, call, context, services);
}

async function dispatchToPools(
	plan: Plan,
	call: TaskCall,
	context: DispatchContext,
	services: DispatchServices,
): Promise<EngineAnswer> {
	const { plan: available, place } = await waitForCapacity(plan, call, context, services);
	try {
		return await start(available, call, { ...context, ...(place && { place }) }, services);
	} catch (error) {
		place?.leave();
		throw error;
	}
}

async function start(
	plan: Plan,
	call: TaskCall,
	context: DispatchContext,
	services: DispatchServices,
): Promise<EngineAnswer> {
	// Loaded first: no other request may run between the choice of a target and the start of its call.
	const loading = loadBackends(plan.targets);
	if (loading) await loading;
	const state = new DispatchState({ plan, call, context }, services);
	const started = await firstResponse(state);
	if (!started) throw state.failure;
	const { answer, outcome } = started;
	const { served } = state;
	state.answeredBy(started.target);
	const { report } = started;
	if (report.verbatim || report.dropped.length > 0) served.report = report;
	// Without another target there is no failover, so the stream is passed as it is.
	const isFinal = answer.kind !== "stream" || !isResumable(call) || !state.hasTargets;
	const ended = answer.kind === "stream" ? answer.ended : undefined;
	if (isFinal) outcome.succeed();
	else if (ended) void ended.then((failure) => recordStreamEnd(outcome, failure));
	const passed = isFinal || ended ? answer : withFailover(started, answer, call, state);
	return { call, answer: { task: call.task, answer: passed } as TaskAnswer, served };
}
