/**
 * Exchanges the loads of this isolate, and hints about the prompts that it sent, with those of the others that send to the same
 * pool, in the background of requests.
 */
import { hasPassed } from "../core/elapsed.ts";
import type { Pool } from "./pool.ts";
import { type OthersShare, type OwnShare, SHARED_MS } from "./shared-loads.ts";

interface LoadExchangeServices {
	now(): number;
	waitUntil(work: Promise<unknown>): void;
	uuid(): string;
	/** Calls the object of the pool. */
	exchange(pool: string, isolate: string, own: OwnShare): Promise<OthersShare>;
}

/** Between two exchanges of one isolate. */
const EXCHANGE_MS = 100;
/** If no other isolate has shared its loads. */
const ALONE_MS = 5_000;
/** More exchanges in a second would be too many for one object. */
const MAX_PER_SECOND = 400;

interface Shared {
	/** The next exchange is due so long after the start or the end of the latest one. */
	waitMs: number;
	since: number;
	/** When the loads of the others were learned, or forgotten. */
	othersAt: number;
	/** Of the latest exchange. */
	sequence: number;
}

/** What this isolate shares about a pool. Its hints are returned once. */
export const ownShare = (pool: Pool, since: number): OwnShare => ({
	loads: [...pool.replicas]
		.filter(({ ownTokens }) => ownTokens > 0)
		.map(({ ownTokens, url }) => ({ url, tokens: Math.round(ownTokens) })),
	hints: pool.hints.take(),
	since,
});

export function learnOthers(pool: Pool, { hints, others }: OthersShare): void {
	pool.setOthers(new Map(others.map(({ url, tokens }) => [url, tokens])));
	for (const hint of hints) {
		const replica = pool.get(hint.url);
		if (replica && !replica.draining) pool.hints.learn(replica, hint);
	}
}

export class LoadExchange {
	readonly #services: LoadExchangeServices;
	readonly #pools = new Map<string, Shared>();
	#isolate: string | undefined;

	constructor(services: LoadExchangeServices) {
		this.#services = services;
	}

	/** A request for the pool has arrived. `name`: of the pool, the same in all isolates. */
	start(name: string, pool: Pool): void {
		const { now, waitUntil } = this.#services;
		const at = now();
		const shared = this.#pools.get(name) ?? { waitMs: 0, since: at, othersAt: at, sequence: 0 };
		this.#pools.set(name, shared);
		if (hasPassed(SHARED_MS + 1, shared.othersAt, at)) {
			// The object could not be called.
			pool.setOthers(new Map());
			shared.othersAt = at;
		}
		if (!hasPassed(shared.waitMs, shared.since, at)) return;
		Object.assign(shared, { waitMs: SHARED_MS, since: at });
		waitUntil(this.#exchange(name, pool, shared).catch(() => {}));
	}

	async #exchange(name: string, pool: Pool, shared: Shared): Promise<void> {
		const { exchange, now, uuid } = this.#services;
		// Not in the constructor: Workers have no randomness before the first request.
		this.#isolate ??= uuid();
		const others = await exchange(name, this.#isolate, ownShare(pool, shared.sequence));
		learnOthers(pool, others);
		const { isolates, sequence } = others;
		const at = now();
		const waitMs = isolates > 1 ? Math.max(EXCHANGE_MS, (1_000 * isolates) / MAX_PER_SECOND) : ALONE_MS;
		Object.assign(shared, { waitMs, since: at, othersAt: at, sequence });
	}
}
