/**
 * The calls of collectors. Accounts share the places. One account may use those that no other one needs; a slow call loses its place to an account
 * with fewer ({@link FairLine}). The bodies have bytes of their own, so that they take none of requests. A collector that keeps failing is not
 * called for some seconds ({@link Breaker}). What is not sent is counted, and of each collector the log has a line in {@link LOG_MS}: one that
 * fails for hours fills no disk.
 */
import { BoundedMap } from "../../core/bounded-map.ts";
import { hasPassed } from "../../core/elapsed.ts";
import type { FailedCollector } from "../../core/errors.ts";
import type { FairLine, Turn, WaitInLine } from "../../core/fair-line.ts";
import { addGarbage } from "../../core/garbage.ts";
import { counter, type Metric } from "../../core/metric.ts";
import { exportBytes } from "../../core/process-counts.ts";
import { CounterSeries } from "../../core/series.ts";
import { settledElsewhere } from "../../core/settled-elsewhere.ts";
import { Breaker } from "../../fleet/breaker.ts";
import { hostOf } from "../../fleet/health.ts";
import { SHORT_CALLS } from "../../outbound/limits.ts";
import { MAX_HOPS, withHops } from "../../outbound/passed-headers.ts";
import { shortCall } from "../../outbound/short-call.ts";
import type { OtelTarget } from "../settings.ts";

const RECALLED =
	"The collector has not answered within a second, and another account needed the place of the call";
/** At this number the states of all are forgotten. */
const MAX_COLLECTORS = 1_000;
const MAX_LABEL_SETS = 1_000;
const LOG_MS = 10_000;
/** A call that takes longer loses its place if another account needs it. */
const SLOW_MS = 1_000;
/** A call that has not ended by then never will: the runtime has ended the request that made it. */
const LOST_MS = 3 * SHORT_CALLS.collector.timeoutMs;

interface CollectorCallsServices {
	now(): number;
	wait: WaitInLine;
	/** Of the calls under way. */
	exportLine: FairLine;
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
	bytes: number;
	since: number;
	/** Absent until it asks for a place. */
	turn?: Turn;
	/** Resolved by another request. The call's own request then aborts its fetch. */
	recalled: PromiseWithResolvers<void>;
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
		const call: Call = { account, bytes, since: this.#services.now(), recalled: settledElsewhere() };
		this.#calls.add(call);
		return call;
	}

	/** `true`: the call has a place, which its end releases too. A promise: whether it got one later. */
	begin(call: Call): true | Promise<boolean> {
		this.#endLost();
		const turn = this.#services.exportLine.enter(call.account);
		call.turn = turn;
		return turn.state === "placed" || this.#beginLater(turn);
	}

	async #beginLater(turn: Turn): Promise<boolean> {
		const { exportLine, wait } = this.#services;
		const timer = new AbortController();
		wait(SLOW_MS, timer.signal).then(
			() => turn.state === "waiting" && this.#recall(turn.account),
			() => {},
		);
		await exportLine.placed(turn, wait);
		timer.abort();
		return turn.state === "placed";
	}

	/** Releases what the call holds. Also from another request. May be called again. */
	end(call: Call): void {
		if (!this.#calls.delete(call)) return;
		const { account, bytes, turn } = call;
		if (turn) this.#services.exportLine.leave(turn);
		exportBytes.release(account, bytes);
		addGarbage(bytes);
	}

	/** Ends a slow call of the account with the most places, unless the waiting account would then have more, or not get the place. */
	#recall(account: string): void {
		if (!this.#services.exportLine.isBelowPart(account)) return;
		const now = this.#services.now();
		const placed = [...this.#calls].filter(({ turn }) => turn?.state === "placed");
		const ofAccounts = Map.groupBy(placed, (call) => call.account);
		const ownAfter = (ofAccounts.get(account)?.length ?? 0) + 1;
		const slow = [...ofAccounts.values()]
			.filter(({ length }) => length > ownAfter)
			.sort((a, b) => b.length - a.length)
			.flatMap((calls) => calls.find(({ turn }) => hasPassed(SLOW_MS, turn?.placedAt, now)) ?? [])[0];
		if (!slow) return;
		slow.recalled.resolve();
		// The runtime may have ended its request: the place is free without it.
		this.end(slow);
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
			const begun = this.#places.begin(call);
			if (begun === true || (await begun)) await this.#post(body, source, call);
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
			account,
			kind: this.#kind,
			host: hostOf(this.#target.url),
			reason,
			...known,
		});
	}

	async #post(body: string, { gateway, fetch }: ExportingGateway, { recalled }: Call): Promise<void> {
		if (this.isPaused) return this.drop("paused");
		const since = this.#services.now();
		this.#breaker.start(since);
		let status: number | undefined;
		const controller = new AbortController();
		recalled.promise.then(() => controller.abort(new Error(RECALLED)));
		try {
			const answer = await post(this.#target, body, { fetch, signal: controller.signal });
			status = answer.status;
			if (!answer.ok) throw new Error(`The collector answered with status ${status}`);
			this.#breaker.succeed(this.#services.now(), since);
		} catch (cause) {
			if (controller.signal.aborted) {
				// The collector may work: the process has too few places.
				this.#breaker.cancel(since);
				return this.drop("full", { gateway, cause });
			}
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
const post = (
	{ url, headers, authorization }: OtelTarget,
	body: string,
	call: { fetch: typeof globalThis.fetch; signal: AbortSignal },
) =>
	withHops(MAX_HOPS - 1, () =>
		shortCall({
			...call,
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
