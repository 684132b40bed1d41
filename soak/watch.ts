/** Looks at the accounts all the time, from outside: what is spent and reserved together never passes a budget. */
import { setTimeout as wait } from "node:timers/promises";
import type { Gateway, Standing } from "./gateway.ts";

export interface Watched {
	samples: number;
	/** Highest share of a budget that was spent and reserved at once, 0 to 1. */
	fullest: number;
	/** Most requests under way of one account. */
	mostOpen: number;
	/** What passed a budget. */
	overshoots: string[];
}

export interface Eye {
	account: string;
	authorization?: string;
}

const PAUSE_MS = 15;

/** Until `signal` fires. Where nobody answers it looks again. */
export async function watch(gateway: Gateway, eyes: readonly Eye[], signal: AbortSignal): Promise<Watched> {
	const watched: Watched = { samples: 0, fullest: 0, mostOpen: 0, overshoots: [] };
	for (let turn = 0; !signal.aborted; turn++) {
		const eye = eyes[turn % eyes.length];
		if (!eye) break;
		const standing = await gateway.standing(eye.account, eye.authorization).catch(() => undefined);
		if (standing) look(eye, standing, watched);
		await wait(PAUSE_MS, undefined, { signal }).catch(() => {});
	}
	return watched;
}

export function look(
	{ account }: Eye,
	{ budgets, openRequests, overruns }: Standing,
	watched: Watched,
): void {
	watched.samples++;
	watched.mostOpen = Math.max(watched.mostOpen, openRequests);
	if (overruns > 0) watched.overshoots.push(`${account}: ${overruns} requests cost more than was reserved`);
	for (const { key, quota, reserved, spent } of budgets) {
		watched.fullest = Math.max(watched.fullest, (spent + reserved) / quota);
		if (spent + reserved > quota)
			watched.overshoots.push(
				`${account}, ${key}: ${spent} spent and ${reserved} reserved of ${quota} micro-neurons`,
			);
	}
}
