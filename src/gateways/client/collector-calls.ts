/**
 * The calls of collectors. Each account has a share of those under way, so a collector that does not answer takes no places of other accounts.
 * One that keeps failing is not called for some seconds ({@link Breaker}). What is not sent is counted, and of each collector the log has a
 * line in {@link LOG_MS}: one that fails for hours fills no disk.
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
/** A call that has not ended by then never will: the runtime has ended the request that made it. */
const LOST_MS = 3 * SHORT_CALLS.collector.timeoutMs;

interface CollectorCallsServices {
	now(): number;
	/** Something was dropped. The cause contains no content of the request. */
	failed(cause: unknown): void;
}

/** Why something was not sent. `full`: too many calls are under way. `paused`: the collector has failed. `refused`: its address is not allowed. */
type DropReason = "failed" | "full" | "paused" | "refused";

interface Exported {
	account: string;
	target: OtelTarget;
	kind: "metrics" | "spans";
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
	readonly #calls = new Set<{ since: number; end(): void }>();
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
		if (this.isPaused(exported)) return;
		const end = this.#begin(exported.account, body.length);
		if (!end) return this.#count(exported, "full");
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
		} finally {
			end();
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

	/** Takes the place of a call. Returns its release; nothing if there is no place, or no room for the body. */
	#begin(account: string, bytes: number): (() => void) | undefined {
		const since = this.#services.now();
		for (const call of this.#calls) {
			if (!hasPassed(LOST_MS, call.since, since)) break;
			call.end();
		}
		const hold = new BufferHold(account);
		if (!hold.tryGrow(bytes)) return undefined;
		if (!runningExports.tryTake(account)) {
			hold.release();
			return undefined;
		}
		const call = {
			since,
			end: () => {
				if (!this.#calls.delete(call)) return;
				runningExports.release(account);
				hold.release();
			},
		};
		this.#calls.add(call);
		return call.end;
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
