/**
 * The audit tolerates a call without a row in the ledger, or a request without a log, for these reasons: a kill, a caller that
 * disconnected, the gateway's timeout, and a request that lasts longer than its reservation. The tolerated times are those of a gateway
 * that answers at once. Without enough CPU, each step takes as long as the smallest request (`delays.ts`), and the audit adds this time.
 */
import type { CallerRecord } from "../caller.ts";
import type { EngineCall } from "../engine.ts";
import type { Kill, Row } from "../gateway.ts";
import { SILENCE_MS } from "../settings.ts";
import { type Delay, delayAt } from "./delays.ts";
import type { GatewayRequest } from "./plan.ts";

/** A log is sent when its answer has ended, after those that are being sent. */
const LOST_MS = 500;
/** A batch of leased requests is sent every 250 ms. What a kill prevents is charged with the lease. */
const UNDELIVERED_MS = 1_500;
/** After an answer: the gateway notices its end, waits for further logs or settlements, and sends them. */
const DELIVERY_STEPS = 3;
const TIMEOUT = 408;
/** Longer than any request. */
const LONGEST_MS = 30_000;

/** The records that a reason depends on. */
export interface Evidence {
	records: readonly CallerRecord[];
	/** By the index of the answer. */
	calls: readonly (readonly EngineCall[])[];
	kills: readonly Kill[];
	/** How long the gateway took for the smallest request, during the run. */
	delays: readonly Delay[];
	/** Milliseconds after which a request without a settlement is charged its reservation. */
	holdMs: number;
}

type Request = Pick<GatewayRequest, "index" | "resumable" | "steps">;

export class Excuses {
	readonly #books: Evidence;
	readonly #records: Map<number, CallerRecord>;
	/** Milliseconds that a delivery takes at each kill, beside its waits. */
	readonly #deliveryMs: Map<Kill, number>;
	/** Ids of requests that lasted longer than their reservation. */
	readonly #outlivedIds: Set<string | undefined>;

	constructor(books: Evidence) {
		const { delays, kills, records } = books;
		this.#books = books;
		this.#records = new Map(records.map((record) => [record.index, record]));
		this.#deliveryMs = new Map(kills.map((kill) => [kill, DELIVERY_STEPS * delayAt(kill.at, delays)]));
		this.#outlivedIds = new Set(records.filter((record) => this.#outlived(record)).map(({ id }) => id));
	}

	/** Whether the call may have no row. `requests`: those that share its answer. */
	unbilled(
		{ openedAt, closedAt = openedAt }: Pick<EngineCall, "openedAt" | "closedAt">,
		requests: readonly Request[],
	): boolean {
		const records = requests.flatMap(({ index }) => this.#records.get(index) ?? []);
		const endedAt = Math.max(closedAt, ...records.map((record) => record.endedAt));
		return (
			records.some(({ end, status }) => end === "disconnected" || status === TIMEOUT) ||
			records.some((record) => this.#outlived(record)) ||
			requests.some((request) => this.#timedOut(request, openedAt)) ||
			this.#killAfter(openedAt, endedAt, UNDELIVERED_MS) !== undefined
		);
	}

	/** Whether the request's row may have no usage. */
	unsettled(request: Request, record: CallerRecord): boolean {
		return (
			this.#outlived(record) ||
			this.#killAfter(record.startedAt, this.#endOf(request, record), UNDELIVERED_MS) !== undefined
		);
	}

	/** Whether the row may be charged its reservation. */
	expiry({ id, started_at }: Pick<Row, "id" | "started_at">): boolean {
		const startedAt = Date.parse(started_at) - performance.timeOrigin;
		return this.#killAfter(startedAt, startedAt + LONGEST_MS, 0) !== undefined || this.#outlivedIds.has(id);
	}

	/** The kill that may have lost the request's log. */
	lostLog(request: Request, record: CallerRecord): Kill | undefined {
		return this.#killAfter(record.startedAt, this.#endOf(request, record), LOST_MS);
	}

	left({ index }: Pick<Request, "index">): boolean {
		return this.#records.get(index)?.end === "disconnected";
	}

	sent(index: number): boolean {
		return this.#records.has(index);
	}

	/** The time of the next kill, for the report of a violation. */
	killNear(time: number): string {
		const next = this.#books.kills.find(({ at }) => at >= time);
		return next ? `${Math.round(next.at - time)} ms before a kill` : "after the last kill";
	}

	/**
	 * A resumable stream ends with its call, which may be after its caller. So does a stream whose caller has left: without the connection guard,
	 * the runtime notices it when it sends the next bytes, and an engine that stalls sends none.
	 */
	#endOf({ resumable, steps }: Request, { end, endedAt }: CallerRecord): number {
		const calls =
			resumable || end === "disconnected" ? steps.flatMap((step) => this.#books.calls[step] ?? []) : [];
		return Math.max(endedAt, ...calls.map(({ closedAt, openedAt }) => closedAt ?? openedAt));
	}

	/**
	 * The request lasted longer than the gateway waits for a call. Then it failed, or the gateway had called an engine again. The gateway waits from its
	 * call on, which may be long before the engine reads it: not before the request, and not before the end of the previous call.
	 */
	#timedOut({ index, steps }: Request, openedAt: number): boolean {
		const record = this.#records.get(index);
		if (!record) return false;
		const calls = steps.flatMap((step) => this.#books.calls[step] ?? []);
		const ends = calls.flatMap(({ closedAt }) =>
			closedAt !== undefined && closedAt <= openedAt ? closedAt : [],
		);
		const dueAt = Math.max(record.startedAt, ...ends) + SILENCE_MS;
		if (record.endedAt < dueAt) return false;
		return record.status !== 200 || calls.some((call) => call.openedAt > openedAt && call.openedAt >= dueAt);
	}

	/** The request lasted longer than its reservation, and was charged that. */
	#outlived({ startedAt, endedAt }: CallerRecord): boolean {
		return endedAt - startedAt >= this.#books.holdMs;
	}

	/** `lostMs`: what ended in this time before a kill may not have been delivered. */
	#killAfter(from: number, to: number, lostMs: number): Kill | undefined {
		return this.#books.kills.find(
			(kill) => from <= kill.upAt && kill.at <= to + lostMs + (this.#deliveryMs.get(kill) ?? 0),
		);
	}
}
