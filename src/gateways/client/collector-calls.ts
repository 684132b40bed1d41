/**
 * The calls of collectors. Each account has a share of those under way, so a collector that does not answer takes no places of other accounts.
 * A call waits up to 1.5 seconds for a place, because one that works has bursts. One that keeps failing is not called for some seconds
 * ({@link Breaker}). What is not sent is counted, and of each collector the log has a line in {@link LOG_MS}: one that fails for hours fills no
 * disk.
 */
import { BoundedMap } from "../../core/bounded-map.ts";
import { hasPassed } from "../../core/elapsed.ts";
import { counter, type Metric } from "../../core/metric.ts";
import { BufferHold, runningExports } from "../../core/process-counts.ts";
import { CounterSeries } from "../../core/series.ts";
import { Breaker } from "../../fleet/breaker.ts";
import { MAX_HOPS, withHops } from "../../outbound/hops.ts";
import { SHORT_CALLS } from "../../outbound/limits.ts";
import { shortCall } from "../../outbound/short-call.ts";
import type { OtelTarget } from "../settings.ts";

/** At this number the states of all are forgotten. */
const MAX_COLLECTORS = 1_000;
const MAX_LABEL_SETS = 1_000;
const LOG_MS = 10_000;
/** Until a place may be free. */
const WAITS_MS = [50, 100, 200, 400, 800];
/** A call that has not ended by then never will: the runtime has ended the request that made it. */
const LOST_MS = 3 * SHORT_CALLS.collector.timeoutMs;

interface CollectorCallsServices {
	now(): number;
	wait(milliseconds: number): Promise<void>;
	/** Something was dropped. The cause contains no content of the request. */
	failed(cause: unknown): void;
}

/** Why it was not sent. `full`: too many calls are under way. `paused`: the collector has failed. `refused`: its address is not allowed. */
type DropReason = "failed" | "full" | "paused" | "refused";

interface Exported {
	account: string;
	target: OtelTarget;
	kind: "metrics" | "spans";
}

/** Under way, or waiting for a place. */
interface Call {
	since: number;
	/** Releases what it holds. May be called again. */
	end(): void;
}

interface Collector {
	breaker: Breaker;
	loggedAt?: number;
}

export class CollectorCalls {
	readonly #services: CollectorCallsServices;
	/** By the account and the JSON of the collector. */
	readonly #collectors = new BoundedMap<string, Collector>(MAX_COLLECTORS);
	/** The oldest is first. */
	readonly #calls = new Set<Call>();
	readonly #drops = new CounterSeries({ names: ["account", "kind", "reason"], max: MAX_LABEL_SETS });
	#dropped = 0;

	constructor(services: CollectorCallsServices) {
		this.#services = services;
	}

	/** Bodies that were dropped by this isolate. */
	get dropped(): number {
		return this.#dropped;
	}

	/** Whether a body would not be sent now. Counts it as dropped. */
	isPaused(exported: Exported): boolean {
		const isPaused = this.#collectorOf(exported).breaker.state(this.#services.now()) === "open";
		if (isPaused) this.#count(exported, "paused");
		return isPaused;
	}

	/** Never rejects. */
	async send(exported: Exported, body: string, fetch: typeof globalThis.fetch): Promise<void> {
		const hold = new BufferHold(exported.account);
		if (!hold.tryGrow(body.length)) return this.#count(exported, "full");
		const call = { since: this.#services.now(), end: () => hold.release() };
		this.#calls.add(call);
		try {
			const isBegun = this.#tryBegin(exported.account, call) || (await this.#beginLater(exported, call));
			if (isBegun) await this.#post(exported, body, fetch);
			else this.#count(exported, "full");
		} finally {
			this.#calls.delete(call);
			call.end();
		}
	}

	async #post(exported: Exported, body: string, fetch: typeof globalThis.fetch): Promise<void> {
		if (this.isPaused(exported)) return;
		const { breaker } = this.#collectorOf(exported);
		const since = this.#services.now();
		breaker.start(since);
		try {
			const { ok, status } = await post(exported.target, body, fetch);
			if (!ok) throw new Error(`The collector answered with status ${status}`);
			breaker.succeed(this.#services.now(), since);
		} catch (cause) {
			breaker.fail(this.#services.now(), since);
			this.drop(exported, "failed", cause);
		}
	}

	/** Counts, and logs the cause if the log has had no line of the collector lately. */
	drop(exported: Exported, reason: DropReason, cause: unknown): void {
		this.#count(exported, reason);
		const collector = this.#collectorOf(exported);
		const now = this.#services.now();
		if (!hasPassed(LOG_MS, collector.loggedAt, now)) return;
		collector.loggedAt = now;
		this.#services.failed(cause);
	}

	metrics(): Metric[] {
		return [
			counter(
				"dropped_exports_total",
				"Spans and metrics that no collector received. paused: the collector has failed. full: too many calls were under way. refused: its address is not allowed.",
				this.#drops.samples(),
			),
		];
	}

	/** Takes the place of a call, which its end releases too. */
	#tryBegin(account: string, call: Call): boolean {
		const now = this.#services.now();
		for (const earlier of this.#calls) {
			if (!hasPassed(LOST_MS, earlier.since, now)) break;
			this.#calls.delete(earlier);
			earlier.end();
		}
		if (!runningExports.tryTake(account)) return false;
		const { end } = call;
		call.end = () => {
			call.end = () => {};
			runningExports.release(account);
			end();
		};
		return true;
	}

	async #beginLater({ account }: Exported, call: Call): Promise<boolean> {
		for (const milliseconds of WAITS_MS) {
			await this.#services.wait(milliseconds);
			if (this.#tryBegin(account, call)) return true;
		}
		return false;
	}

	#count({ account, kind }: Exported, reason: DropReason): void {
		this.#dropped++;
		this.#drops.add([account, kind, reason]);
	}

	#collectorOf({ account, target }: Exported): Collector {
		return this.#collectors.getOrSet(`${account} ${JSON.stringify(target)}`, () => ({
			breaker: new Breaker(),
		}));
	}
}

/** A collector that is a gateway exports no request of an exporter. */
const post = ({ url, headers, authorization }: OtelTarget, body: string, fetch: typeof globalThis.fetch) =>
	withHops(MAX_HOPS - 1, () =>
		shortCall({
			fetch,
			url,
			method: "POST",
			body,
			headers: {
				...headers,
				...(authorization && { authorization }),
				"content-type": "application/json",
			},
			...SHORT_CALLS.collector,
		}),
	);
