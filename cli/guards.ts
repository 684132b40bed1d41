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

/** Set by the build of the package. */
declare const IS_PACKAGE: boolean | undefined;

const PROGRAM = join(import.meta.dirname, typeof IS_PACKAGE === "undefined" ? "guard.ts" : "guard.js");

interface GuardsOptions extends Omit<GuardSettings, keyof GuardTarget | keyof ReloadedSettings | "peer"> {
	/** Of each worker. The first one has the Durable Objects. */
	targets: readonly [GuardTarget, GuardTarget, ...GuardTarget[]];
	/** While a worker is behind, the first one serves large requests. */
	separateLarge: boolean;
	idleMs(): number;
	operatorHash(): string | undefined;
}

export interface Guards {
	/** Resolves with a message if a guard fails. */
	failed: Promise<string>;
	/** Passes changed settings on. */
	update(): void;
}

/** Resolves when all guards listen. */
export async function startGuards({
	targets,
	separateLarge,
	idleMs,
	operatorHash,
	...address
}: GuardsOptions): Promise<Guards> {
	cluster.schedulingPolicy = cluster.SCHED_RR;
	cluster.setupPrimary({ exec: PROGRAM, args: [] });
	const current = (): ReloadedSettings => ({ idleMs: idleMs(), operatorHash: operatorHash() });
	const guards = pairsOf(targets, separateLarge).map((pair) => {
		const settings: GuardSettings = { ...address, ...pair, ...current() };
		return cluster.fork({ [GUARD_SETTINGS]: JSON.stringify(settings) });
	});
	shareTokens(guards);
	const failed = Promise.race(
		guards.map(async (guard) => {
			const [code, name]: (number | string | null)[] = await once(guard, "exit");
			return `A process that accepts connections has stopped by itself (${name ?? code}).`;
		}),
	);
	const listening = Promise.all(guards.map((guard) => once(guard, "listening"))).then(() => undefined);
	const message = await Promise.race([listening, failed]);
	if (message !== undefined) throw new Error(message);
	return {
		failed,
		update() {
			for (const guard of guards) guard.send(current());
		},
	};
}

type GuardProcess = Pick<Worker, "isConnected" | "on" | "send">;

/** Sends what a guard has learned to the others. */
export function shareTokens(guards: readonly GuardProcess[]): void {
	for (const guard of guards)
		guard.on("message", (message: AcceptedTokens) => {
			for (const other of guards) if (other !== guard && other.isConnected()) other.send(message);
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
