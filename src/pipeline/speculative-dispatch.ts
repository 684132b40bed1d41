/**
 * Asks an engine ahead of the account's word, and gives nobody its answer before. Where the account says no after all,
 * or grants less output, the engine is let go; in the latter case it is asked again.
 */
import type { TaskCall } from "../tasks/task.ts";
import type { Entry } from "./admit.ts";
import type { Dispatched } from "./dispatch.ts";

export type Ask = (call: TaskCall, signal: AbortSignal) => Promise<Dispatched>;

/** Gives the answer, and the call that it answers. Throws as `ask` does, or what the account said. `signal` is the caller's. */
export async function askAhead(
	{ call, ahead }: Pick<Entry, "ahead" | "call">,
	signal: AbortSignal,
	ask: Ask,
): Promise<Dispatched & { call: TaskCall }> {
	if (!ahead) return { ...(await ask(call, signal)), call };
	const early = new AbortController();
	const leave = () => early.abort(signal.reason);
	if (signal.aborted) leave();
	else signal.addEventListener("abort", leave);
	const answering = ask(call, early.signal);
	answering.then(ahead.needed, ahead.needed);
	let granted: TaskCall;
	try {
		granted = await ahead.word;
		if (granted === call) return { ...(await answering), call };
	} catch (error) {
		signal.removeEventListener("abort", leave);
		letGo(answering, early);
		throw error;
	}
	signal.removeEventListener("abort", leave);
	letGo(answering, early);
	return { ...(await ask(granted, signal)), call: granted };
}

function letGo(answering: Promise<Dispatched>, early: AbortController): void {
	early.abort();
	answering.then(
		({ answer: { answer } }) => {
			if (answer.kind === "stream") answer.events.cancel().catch(() => {});
		},
		() => {},
	);
}
