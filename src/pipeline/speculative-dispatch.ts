/**
 * Speculative dispatch: the engine is called in parallel with admission, and its answer is held until admission succeeds. If
 * the account refuses the request, or grants less output, the engine's call is cancelled; in the latter case the engine is
 * called again.
 */
import type { TaskCall } from "../tasks/task.ts";
import type { Dispatched } from "./request.ts";

/** A call that is admitted, or may be dispatched before it is. */
export interface AdmittedCall {
	/** With less output than requested if a budget has no room for more. */
	call: TaskCall;
	/** Absent for a call that is admitted. */
	speculation?: {
		/** The admitted call; `call` itself unless the account grants less than expected. Rejects with the refusal. */
		decision: Promise<TaskCall>;
		/** The request cannot go on without the decision. */
		requireDecision(): void;
	};
}

export type Dispatch = (call: TaskCall, signal: AbortSignal) => Promise<Dispatched>;

/** Rejects as `dispatch` does, or with the refusal. `signal` fires when the caller disconnects. */
export function dispatchSpeculatively(
	{ call, speculation }: AdmittedCall,
	signal: AbortSignal,
	dispatch: Dispatch,
): Promise<Dispatched> {
	return speculation ? dispatchEarly(call, speculation, signal, dispatch) : dispatch(call, signal);
}

async function dispatchEarly(
	call: TaskCall,
	speculation: NonNullable<AdmittedCall["speculation"]>,
	signal: AbortSignal,
	dispatch: Dispatch,
): Promise<Dispatched> {
	const early = new AbortController();
	const forwardAbort = () => early.abort(signal.reason);
	if (signal.aborted) forwardAbort();
	else signal.addEventListener("abort", forwardAbort);
	const answering = dispatch(call, early.signal);
	answering.then(speculation.requireDecision, speculation.requireDecision);
	let admitted: TaskCall;
	try {
		admitted = await speculation.decision;
		if (admitted === call) return await answering;
	} catch (error) {
		signal.removeEventListener("abort", forwardAbort);
		cancel(answering, early);
		throw error;
	}
	signal.removeEventListener("abort", forwardAbort);
	cancel(answering, early);
	return dispatch(admitted, signal);
}

function cancel(answering: Promise<Dispatched>, early: AbortController): void {
	early.abort();
	answering.then(
		({ answer: { answer } }) => {
			if (answer.kind === "stream") answer.events.cancel().catch(() => {});
		},
		() => {},
	);
}
