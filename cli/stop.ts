/** How a gateway's process stops without loss. */
import { once } from "node:events";
import { request } from "node:http";

/** One Ctrl-C may arrive twice: from the terminal, and from npm. */
const SAME_SIGNAL_MS = 1_000;

export interface StopSignals {
	readonly isRequested: boolean;
	first: Promise<void>;
	again: Promise<void>;
}

/** SIGINT and SIGTERM: the first one, and a second one that is not a copy of the first. */
export function stopSignals(): StopSignals {
	const requests = new EventTarget();
	let since: number | undefined;
	const onSignal = (): void => {
		if (since === undefined) requests.dispatchEvent(new Event("first"));
		else if (performance.now() - since > SAME_SIGNAL_MS) requests.dispatchEvent(new Event("again"));
		since ??= performance.now();
	};
	for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, onSignal);
	const event = async (name: string): Promise<void> => void (await once(requests, name));
	return {
		get isRequested() {
			return since !== undefined;
		},
		first: event("first"),
		again: event("again"),
	};
}

/**
 * Sends a request that stays open until `end`. Its response ends when everything is settled. The runtime waits for open
 * requests, so it drains even if a supervisor sends the stop signal to all processes.
 */
export function holdOpen(socketPath: string): { end(): void; drained: Promise<boolean> } {
	const drainRequest = request({ socketPath, method: "POST" });
	const drained = new Promise<boolean>((resolve) => {
		drainRequest.once("response", (answer) => {
			answer.resume();
			answer.once("end", () => resolve(answer.complete));
			answer.once("error", () => resolve(false));
		});
		drainRequest.once("error", () => resolve(false));
	});
	drainRequest.flushHeaders();
	return { drained, end: () => void drainRequest.end() };
}

/** The process may have exited. */
export function signal(pid: number, name: NodeJS.Signals): void {
	try {
		process.kill(pid, name);
	} catch {
		// It has exited.
	}
}
