/**
 * Starts a process for the connection guard of each worker (`guard.ts`). They share one address, and get its connections in turn. What one
 * guard learns of accepted tokens, the others get too: the next connection of a caller may be theirs.
 */
import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import { join } from "node:path";
import type { GuardTarget } from "../scripts/connections/guard.ts";
import { GUARD_SETTINGS } from "../scripts/internal-names.ts";
import type { AcceptedTokens, GuardSettings, ReloadedSettings } from "./guard.ts";
import type { Log } from "./log.ts";
import { Restarts } from "./restarts.ts";

/** Set by the build of the package. */
declare const IS_PACKAGE: boolean | undefined;

const PROGRAM = join(import.meta.dirname, typeof IS_PACKAGE === "undefined" ? "guard.ts" : "guard.js");

/** For connections that are on their way to a guard. */
const STOP_MS = 1_000;

interface GuardsOptions extends Omit<GuardSettings, keyof GuardTarget | keyof ReloadedSettings | "peer"> {
	/** Of each worker. The first one has the Durable Objects. */
	targets: readonly [GuardTarget, GuardTarget, ...GuardTarget[]];
	/** While a worker is behind, the first one serves large requests. */
	separateLarge: boolean;
	idleMs(): number;
	operatorHash(): string | undefined;
	log: Pick<Log, "error">;
}

export interface Guards {
	/** Resolves with a message if a guard ends again and again. */
	failed: Promise<string>;
	/** Passes changed settings on. */
	update(): void;
	/** The worker with this number has ended. The connections of its guard end too, and the other guards get the new ones. */
	stop(worker: number): void;
	/** The worker is there again. Resolves when its guard listens, and rejects if that ends before. */
	start(worker: number): Promise<void>;
}

/** Resolves when all guards listen. A guard that ends by itself is started again. */
export async function startGuards({
	targets,
	separateLarge,
	idleMs,
	operatorHash,
	log,
	...address
}: GuardsOptions): Promise<Guards> {
	cluster.schedulingPolicy = cluster.SCHED_RR;
	cluster.setupPrimary({ exec: PROGRAM, args: [] });
	const current = (): ReloadedSettings => ({ idleMs: idleMs(), operatorHash: operatorHash() });
	const pairs = pairsOf(targets, separateLarge);
	/** By the number of the worker. */
	const guards = new Map<number, Worker>();
	const restarts = new Restarts();
	const { promise: failed, resolve: fail } = Promise.withResolvers<string>();
	const start = async (worker: number): Promise<void> => {
		const settings: GuardSettings = { ...address, ...pairs[worker - 1], ...current() } as GuardSettings;
		const guard = cluster.fork({ [GUARD_SETTINGS]: JSON.stringify(settings) });
		guards.set(worker, guard);
		shareTokens(guard, () => guards.values());
		const exit = once(guard, "exit").then(
			([code, name]) => `A process that accepts connections has stopped by itself (${name ?? code}).`,
		);
		void exit.then((message) => {
			if (guards.get(worker) !== guard) return;
			guards.delete(worker);
			if (!restarts.begin()) return fail(message);
			log.error(`${message} It is started again. Its connections were interrupted.`);
			start(worker).catch(() => {});
		});
		const message = await Promise.race([once(guard, "listening").then(() => undefined), exit]);
		if (message !== undefined) throw new Error(message);
	};
	await Promise.all(pairs.map((_, index) => start(index + 1)));
	return {
		failed,
		update() {
			for (const guard of guards.values()) if (guard.isConnected()) guard.send(current());
		},
		stop(worker) {
			const guard = guards.get(worker);
			guards.delete(worker);
			// From here on it gets no connections. Those that it has just been sent would hang if it were killed at once.
			guard?.disconnect();
			setTimeout(() => guard?.process.kill("SIGKILL"), STOP_MS).unref();
		},
		start,
	};
}

type GuardProcess = Pick<Worker, "isConnected" | "on" | "send">;

/** Sends what a guard has learned to the others. */
export function shareTokens(guard: GuardProcess, all: () => Iterable<GuardProcess>): void {
	guard.on("message", (message: AcceptedTokens) => {
		for (const other of all()) if (other !== guard && other.isConnected()) other.send(message);
	});
}

/** The workers of each guard: its own, and with `separateLarge` the first one, or for its guard the second one. */
export function pairsOf(
	targets: GuardsOptions["targets"],
	separateLarge: boolean,
): Pick<GuardSettings, keyof GuardTarget | "peer">[] {
	if (!separateLarge) return [...targets];
	const [first, second, ...others] = targets;
	const large = { ...first, guardCount: targets.length };
	const small = { ...second, guardCount: 2 };
	return [
		{ ...large, peer: { ...small, serves: "small" } },
		...[small, ...others].map((own) => ({ ...own, peer: { ...large, serves: "large" as const } })),
	];
}
