/** How a gateway's processes stop without loss. */
import { once } from "node:events";
import { request } from "../scripts/http.ts";
import { isStartedByNpm, whenParentExits } from "../scripts/parent.ts";
import type { Log } from "./log.ts";
import { Restarts } from "./restarts.ts";
import { signal, type WorkerProcess } from "./workers.ts";

/** For running answers, after the first signal. */
const MAX_DRAIN_MS = 60_000;

/** One Ctrl-C may arrive twice: from the terminal, and from npm. */
const SAME_SIGNAL_MS = 1_000;

export interface StopSignals {
	readonly isRequested: boolean;
	first: Promise<void>;
	again: Promise<void>;
}

/**
 * SIGINT and SIGTERM: the first one, and a second one that is not a copy of the first. If npm has started this process, the exit of npm
 * is a signal too.
 */
export function stopSignals(): StopSignals {
	const requests = new EventTarget();
	let since: number | undefined;
	const onSignal = (): void => {
		if (since === undefined) requests.dispatchEvent(new Event("first"));
		else if (performance.now() - since > SAME_SIGNAL_MS) requests.dispatchEvent(new Event("again"));
		since ??= performance.now();
	};
	for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, onSignal);
	if (isStartedByNpm()) whenParentExits(() => since === undefined && onSignal());
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
function holdOpen(socketPath: string): { end(): void; drained: Promise<boolean> } {
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

interface Running {
	/** The first one has the Durable Objects. */
	workers: readonly WorkerProcess[];
	/** Starts a worker without objects again. */
	restart(worker: WorkerProcess): Promise<void>;
	stopping: StopSignals;
	log: Log;
	/** Resolves with a message if a process that accepts connections ends again and again. */
	guardFailed?: Promise<string>;
}

/**
 * The first signal drains, for at most a minute. The second one stops immediately. A worker that ends by itself is started again; if it has the
 * objects, or ends again and again, the gateway ends. Returns whether the end was requested, and no request was interrupted.
 */
export async function untilEnd({ workers, restart, stopping, log, guardFailed }: Running): Promise<boolean> {
	/** The current process of each worker. */
	const processes = workers.map(heldOpen);
	let isEnding = false;
	const stopNow = (): void => {
		isEnding = true;
		for (const { stop } of processes) void stop();
	};
	const drainAll = async (): Promise<void> => {
		isEnding = true;
		setTimeout(stopNow, MAX_DRAIN_MS).unref();
		for (const { end } of processes) end();
		// Their settlements need the objects of the first process.
		const [owner, ...others] = processes;
		await Promise.all(others.map(endWhenDrained));
		if (owner) await endWhenDrained(owner);
	};
	/** Resolves with its exit when the worker has ended and is not started again. */
	const supervise = async (worker: WorkerProcess, index: number): Promise<number | NodeJS.Signals> => {
		const restarts = new Restarts();
		for (;;) {
			const exit = await worker.served.ended;
			if (isEnding || index === 0 || !restarts.begin()) return exit;
			const name = `Worker ${worker.number}`;
			log.error(
				`${name} has stopped by itself (${exit}) and is started again. Its requests were interrupted.`,
			);
			await restart(worker).then(
				() => isEnding || log.info(`${name} serves requests again.`),
				({ message }: Error) => log.error(`${name} cannot be started: ${message}`),
			);
			processes[index] = heldOpen(worker);
			// The gateway ends since then.
			if (isEnding) void worker.served.stop();
		}
	};
	void stopping.first.then(() => {
		log.info("Waiting for running answers, at most a minute. Press Ctrl-C again to stop immediately.");
		return drainAll();
	});
	void stopping.again.then(stopNow);
	const exits = workers.map(supervise);
	const failed = await Promise.race([
		...exits.map(async (ended, index) => ({
			hasObjects: index === 0,
			message:
				index === 0 ? `workerd has stopped by itself (${await ended}).` : repeatedEnd(index + 1, await ended),
		})),
		...(guardFailed ? [guardFailed.then((message) => ({ hasObjects: false, message }))] : []),
	]);
	if (!stopping.isRequested) {
		log.error(failed.message);
		if (failed.hasObjects) stopNow();
		else void drainAll();
	}
	await Promise.all(exits);
	const ends = await Promise.all(
		processes.map(async ({ ended, drained }) => (await ended) === 0 && (await drained)),
	);
	if (!stopping.isRequested) return false;
	if (ends.every(Boolean)) return true;
	log.error("Running requests were interrupted. They are charged their reservations.");
	return false;
}

const repeatedEnd = (worker: number, exit: number | NodeJS.Signals): string =>
	`Worker ${worker} has stopped by itself again and again, the last time with ${exit}. The gateway stops.`;

const heldOpen = ({ served, drainSocket }: WorkerProcess) => ({ ...served, ...holdOpen(drainSocket) });

type DrainingProcess = Pick<WorkerProcess["served"], "ended" | "pid"> & ReturnType<typeof holdOpen>;

/** Resolves when the process has exited. */
async function endWhenDrained({ drained, ended, pid }: DrainingProcess): Promise<void> {
	if (await drained) signal(pid, "SIGTERM");
	await ended;
}
