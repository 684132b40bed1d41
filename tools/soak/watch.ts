/** Samples the accounts during a run: the sum of spent and reserved neurons must never exceed a budget. */
import { setTimeout as wait } from "node:timers/promises";
import type { Gateway, LimitStatus } from "./gateway.ts";

export interface Observations {
	samples: number;
	/** Highest share of a budget that was spent and reserved at the same time, 0 to 1. */
	fullest: number;
	/** Maximum of open requests of one account. */
	maxOpen: number;
	/** Reports of exceeded budgets. */
	overshoots: string[];
}

export interface AccountAccess {
	account: string;
	authorization?: string;
}

const PAUSE_MS = 15;
/** When all requests are answered, the accounts only charge what expires. */
const LATE_PAUSE_MS = 100;

/** Runs until `finished` fires. Skips a sample if the gateway does not answer. */
export async function watch(
	gateway: Gateway,
	accesses: readonly AccountAccess[],
	{ answered, finished }: Record<"answered" | "finished", AbortSignal>,
): Promise<Observations> {
	const observations: Observations = { samples: 0, fullest: 0, maxOpen: 0, overshoots: [] };
	for (let round = 0; !finished.aborted; round++) {
		const access = accesses[round % accesses.length];
		if (!access) break;
		const limitStatus = await gateway
			.limitStatus(access.account, access.authorization)
			.catch(() => undefined);
		if (limitStatus) record(access, limitStatus, observations);
		await wait(answered.aborted ? LATE_PAUSE_MS : PAUSE_MS, undefined, { signal: finished }).catch(() => {});
	}
	return observations;
}

export function record(
	{ account }: AccountAccess,
	{ budgets, openRequests, overruns }: LimitStatus,
	observations: Observations,
): void {
	observations.samples++;
	observations.maxOpen = Math.max(observations.maxOpen, openRequests);
	if (overruns > 0)
		observations.overshoots.push(`${account}: ${overruns} requests cost more than was reserved`);
	for (const { key, quota, reserved, spent } of budgets) {
		observations.fullest = Math.max(observations.fullest, (spent + reserved) / quota);
		if (spent + reserved > quota)
			observations.overshoots.push(
				`${account}, ${key}: ${spent} spent and ${reserved} reserved of ${quota} micro-neurons`,
			);
	}
}
