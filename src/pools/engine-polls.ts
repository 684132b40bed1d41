/**
 * Polls the engines of a pool for their load, in the background of requests (`poll_ms`). The pool's own count of its requests is
 * always current; a report adds the work of other callers and isolates.
 */
import { hasPassed } from "../core/elapsed.ts";
import { LOST_AFTER_MS } from "../core/flush-schedule.ts";
import type { Pool } from "./pool.ts";
import type { EngineLoad, Replica } from "./replica.ts";

/** Polls of one round. In a larger pool the replicas take turns. */
const MAX_POLLS = 32;
/** A replica that reports nothing is not polled again for this time. */
const OFF_MS = 60_000;

/** A replica and the credentials of its backend. */
export interface PolledEngine {
	url: string;
	key?: string | undefined;
	headers: Record<string, string>;
}

interface PollServices {
	now(): number;
	waitUntil(work: Promise<unknown>): void;
	/** `source`: what the latest read has returned. Returns nothing for an engine without a report. */
	read(
		engine: PolledEngine,
		source: string | undefined,
	): Promise<{ source: string; load: EngineLoad } | undefined>;
}

interface Polled {
	/** Milliseconds from `since` to the next poll, at the earliest. Replicas that were not polled come first. */
	wait: number;
	since: number;
	source?: string | undefined;
}

export class EnginePolls {
	readonly #services: PollServices;
	/** Time of the latest round. */
	readonly #rounds = new WeakMap<Pool, number>();
	readonly #replicas = new WeakMap<Replica, Polled>();

	constructor(services: PollServices) {
		this.#services = services;
	}

	/** A request for the pool has arrived. Starts a round if it is due. */
	start(pool: Pool, pollMs: number, credentials: Omit<PolledEngine, "url">): void {
		const at = this.#services.now();
		if (!hasPassed(pollMs, this.#rounds.get(pool), at)) return;
		this.#rounds.set(pool, at);
		const due = pool.members
			.map((replica) => ({ replica, polled: this.#stateOf(replica) }))
			.filter(({ polled: { since, wait } }) => hasPassed(wait, since, at))
			.sort((a, b) => a.polled.since + a.polled.wait - b.polled.since - b.polled.wait)
			.slice(0, MAX_POLLS);
		// With turns, a replica's next report comes later than the next round.
		const rounds = Math.ceil(pool.members.length / MAX_POLLS);
		const validMs = 2 * pollMs * rounds;
		for (const { replica, polled } of due)
			this.#services.waitUntil(
				this.#poll(pool, replica, polled, { ...credentials, url: replica.url }, validMs),
			);
	}

	async #poll(
		pool: Pool,
		{ url }: Replica,
		polled: Polled,
		engine: PolledEngine,
		validMs: number,
	): Promise<void> {
		const { now, read } = this.#services;
		// The request that polls may end, and its poll with it.
		Object.assign(polled, { wait: LOST_AFTER_MS, since: now() });
		const report = await read(engine, polled.source).catch(() => undefined);
		polled.source = report?.source;
		const at = now();
		Object.assign(polled, { wait: report ? 0 : OFF_MS, since: at });
		if (report) pool.report(url, report.load, { at, validMs });
	}

	#stateOf(replica: Replica): Polled {
		const existing = this.#replicas.get(replica);
		if (existing) return existing;
		const polled: Polled = { wait: 0, since: Number.NEGATIVE_INFINITY };
		this.#replicas.set(replica, polled);
		return polled;
	}
}
