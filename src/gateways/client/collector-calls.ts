/**
 * The calls of collectors. Each account has a share of those under way, so a collector that does not answer takes no places of other accounts.
 * A call waits up to 1.5 seconds for a place, because one that works has bursts. The bodies have bytes of their own, so that they take none of
 * requests. A collector that keeps failing is not called for some seconds ({@link Breaker}). What is not sent is counted, and of each collector
 * the log has a line in {@link LOG_MS}: one that fails for hours fills no disk.
 */
import { BoundedMap } from "../../core/bounded-map.ts";
import { hasPassed } from "../../core/elapsed.ts";
import type { FailedCollector } from "../../core/errors.ts";
import { addGarbage } from "../../core/garbage.ts";
import { counter, type Metric } from "../../core/metric.ts";
import { exportBytes, runningExports } from "../../core/process-counts.ts";
import { CounterSeries } from "../../core/series.ts";
import { Breaker } from "../../fleet/breaker.ts";
import { hostOf } from "../../fleet/health.ts";
import { SHORT_CALLS } from "../../outbound/limits.ts";
import { MAX_HOPS, withHops } from "../../outbound/passed-headers.ts";
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
	failed(cause: unknown, collector: FailedCollector): void;
}

type DropReason = FailedCollector["reason"];

/** For the log. */
interface DropFailure extends Pick<FailedCollector, "gateway" | "status"> {
	cause: unknown;
}

/** A body under way, or one that waits for a place. */
interface Call {
	account: string;
	since: number;
	/** Releases what it holds. May be called again. */
	end(): void;
}

/** The places of this isolate, which are shared by the accounts. */
class CallPlaces {
	readonly #services: CollectorCallsServices;
	/** The oldest is first. */
	readonly #calls = new Set<Call>();

	constructor(services: CollectorCallsServices) {
		this.#services = services;
	}

	/** Takes the bytes of a body. `undefined`: there is no room. */
	tryAdd(account: string, bytes: number): Call | undefined {
		this.#endLost();
		if (!exportBytes.tryTake(account, bytes)) return undefined;
		const call: Call = {
			account,
			since: this.#services.now(),
			end: () => {
				call.end = () => {};
				exportBytes.release(account, bytes);
				addGarbage(bytes);
			},
		};
		this.#calls.add(call);
		return call;
	}

	/** Takes a place, which the end of the call releases too. A body that gets none now may get one later (`beginLater`). */
	tryBegin(call: Call): boolean {
		this.#endLost();
		const { account, end } = call;
		if (!runningExports.takeIfFree(account)) return false;
		call.end = () => {
			runningExports.release(account);
			end();
		};
		return true;
	}

	async beginLater(call: Call): Promise<boolean> {
		for (const milliseconds of WAITS_MS) {
			await this.#services.wait(milliseconds);
			if (this.tryBegin(call)) return true;
		}
		runningExports.refuse();
		return false;
	}

	end(call: Call): void {
		this.#calls.delete(call);
		call.end();
	}

	#endLost(): void {
		const now = this.#services.now();
		for (const call of this.#calls) {
			if (!hasPassed(LOST_MS, call.since, now)) break;
			this.end(call);
		}
	}
}

interface CollectorAddress {
	account: string;
	target: OtelTarget;
	kind: FailedCollector["kind"];
}

/** The gateway whose requests are exported, and how it reaches the collector. */
export interface ExportingGateway {
	gateway: string;
	fetch: typeof globalThis.fetch;
}

/** One collector of an account, for one kind of bodies. */
export class CollectorClient {
	readonly account: string;
	readonly #target: OtelTarget;
	readonly #kind: CollectorAddress["kind"];
	readonly #services: CollectorCallsServices;
	readonly #places: CallPlaces;
	readonly #count: (reason: DropReason) => void;
	readonly #breaker = new Breaker();
	#loggedAt: number | undefined;

	constructor(
		{ account, kind, target }: CollectorAddress,
		shared: { services: CollectorCallsServices; places: CallPlaces; count(reason: DropReason): void },
	) {
		this.account = account;
		this.#target = target;
		this.#kind = kind;
		this.#services = shared.services;
		this.#places = shared.places;
		this.#count = shared.count;
	}

	/** Whether a body would not be sent now. */
	get isPaused(): boolean {
		return this.#breaker.state(this.#services.now()) === "open";
	}

	/** Never rejects. */
	async send(body: string, source: ExportingGateway): Promise<void> {
		const call = this.#places.tryAdd(this.account, body.length);
		if (!call) return this.drop("full");
		try {
			const isBegun = this.#places.tryBegin(call) || (await this.#places.beginLater(call));
			if (isBegun) await this.#post(body, source);
			else this.drop("full");
		} finally {
			this.#places.end(call);
		}
	}

	/** A body was not sent. The log gets the failure, unless it has had one of the collector lately. */
	drop(reason: DropReason, failure?: DropFailure): void {
		this.#count(reason);
		const now = this.#services.now();
		if (!failure || !hasPassed(LOG_MS, this.#loggedAt, now)) return;
		this.#loggedAt = now;
		const { cause, ...known } = failure;
		const { account } = this;
		this.#services.failed(cause, {
			...{ account, kind: this.#kind, host: hostOf(this.#target.url), reason },
			...known,
		});
	}

	async #post(body: string, { gateway, fetch }: ExportingGateway): Promise<void> {
		if (this.isPaused) return this.drop("paused");
		const since = this.#services.now();
		this.#breaker.start(since);
		let status: number | undefined;
		try {
			const answer = await post(this.#target, body, fetch);
			status = answer.status;
			if (!answer.ok) throw new Error(`The collector answered with status ${status}`);
			this.#breaker.succeed(this.#services.now(), since);
		} catch (cause) {
			this.#breaker.fail(this.#services.now(), since);
			this.drop("failed", { gateway, cause, ...(status !== undefined && { status }) });
		}
	}
}

export class CollectorCalls {
	readonly #services: CollectorCallsServices;
	readonly #places: CallPlaces;
	/** By the kind, the account and the JSON of the collector. */
	readonly #collectors = new BoundedMap<string, CollectorClient>(MAX_COLLECTORS);
	readonly #drops = new CounterSeries({ names: ["account", "kind", "reason"], max: MAX_LABEL_SETS });

	constructor(services: CollectorCallsServices) {
		this.#services = services;
		this.#places = new CallPlaces(services);
	}

	/** The same object for the same address, until there are too many. */
	collectorOf(address: CollectorAddress): CollectorClient {
		const { account, kind, target } = address;
		return this.#collectors.getOrSet(
			`${kind} ${account} ${JSON.stringify(target)}`,
			() =>
				new CollectorClient(address, {
					services: this.#services,
					places: this.#places,
					count: (reason) => this.#drops.add([account, kind, reason]),
				}),
		);
	}

	metrics(): Metric[] {
		return [
			counter(
				"dropped_exports_total",
				"Spans and metrics that no collector received. paused: the collector has failed. full: too many calls or bytes were under way. refused: its address is not allowed.",
				this.#drops.samples(),
			),
		];
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
