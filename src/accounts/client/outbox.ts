/**
 * Batches this isolate's settlements for one account's object.
 *
 * A call of the object costs more than the work of a settlement, so settlements are batched: they go with the account's next
 * admission, or in a call of their own when one has waited for `FLUSH_AFTER_MS`, or at once when there are `MAX_PENDING`.
 * With frequent admissions no settlement waits so long, and there are no other calls.
 * A settlement stays in the outbox until the object has confirmed it. If a call is lost, another flush sends its settlements
 * again. A second delivery is harmless: the first counts.
 *
 * The journal has the settlements of requests that a lease admitted, in numbered batches. The outbox has the others: those of requests
 * that the object itself admitted, and all of `LEDGER` `exact`, where there is no journal. A chat with a lease enters none of its
 * functions (`npm run trace`).
 */
import { FAILURES } from "../../core/errors.ts";
import { type Flushes, type FlushWork, isLost } from "../../core/flush-schedule.ts";
import { type Admission, NOTHING_USED, type Settlement } from "../admission.ts";
import { waitOf } from "./lease-demand.ts";

const FLUSH_AFTER_MS = 100;
const MAX_PENDING = 100;
/**
 * While the object cannot be reached, each request of the account adds a failed settlement. At this bound they are dropped.
 * All other settlements belong to requests that the object admitted, so they are bounded.
 */
const MAX_SETTLEMENTS = 10_000;

/** The account client that owns the outbox. */
interface OutboxOwner {
	/** Throws if the object may not have received the batch. */
	send(batch: readonly Settlement[]): Promise<void>;
	/** A flush has failed too often. The batch stays in the outbox. */
	onGiveUp(cause: unknown, batch: readonly Settlement[]): void;
	flushesOf(work: FlushWork): Flushes;
	/** If present, flushes begin at multiples of this time, so that those of several accounts share a commit. Milliseconds. */
	readonly gridMs: number | undefined;
	/** The outbox is empty and may be dropped. */
	idle(): void;
}

interface PendingSettlement {
	settlement: Settlement;
	/** Counted from 1. */
	sequence: number;
	addedAt: number;
	/** Absent while no call carries it. */
	sentAt?: number | undefined;
}

export class Outbox {
	readonly #services: { now(): number };
	readonly #owner: OutboxOwner;
	readonly #flushes: Flushes;
	/** By ticket, oldest first. */
	readonly #settlements = new Map<string, PendingSettlement>();
	/** Settlements so far. */
	#count = 0;
	/** `#count` at the start of the present wait. */
	#countBeforeWait = 0;
	/** The latest batch of a flush. */
	#batch: readonly Settlement[] = [];
	readonly #max: number;

	constructor(services: { now(): number }, owner: OutboxOwner, maxSettlements = MAX_SETTLEMENTS) {
		this.#services = services;
		this.#owner = owner;
		this.#flushes = owner.flushesOf({
			step: () => this.#step().finally(() => (this.#countBeforeWait = this.#count)),
			onGiveUp: (cause) => owner.onGiveUp(cause, this.#batch),
			onEnd: () => {
				if (this.#settlements.size === 0) owner.idle();
			},
		});
		this.#max = maxSettlements;
	}

	/** Adds a settlement, unless the outbox has one of the same ticket. Never throws. */
	add(settlement: Settlement): void {
		const isDropped = settlement.outcome === "failed" && this.#settlements.size >= this.#max;
		if (!isDropped && !this.#settlements.has(settlement.ticket))
			this.#settlements.set(settlement.ticket, {
				settlement,
				sequence: ++this.#count,
				addedAt: this.#services.now(),
			});
		this.#ensureFlush();
	}

	/** Sends everything so far, also what another call carries. Throws if the object may not have received it. */
	async flush(): Promise<void> {
		const batch = [...this.#settlements.values()].map(({ settlement }) => settlement);
		if (batch.length === 0) return;
		await this.#owner.send(batch);
		this.confirm(batch);
	}

	/** The batch for a call that starts now. Its caller must {@link confirm} or {@link release} it. */
	take(): Settlement[] {
		const batch: Settlement[] = [];
		const now = this.#services.now();
		for (const pending of this.#settlements.values()) {
			if (batch.length === MAX_PENDING) break;
			if (!isWaiting(pending, now)) continue;
			pending.sentAt = now;
			batch.push(pending.settlement);
		}
		return batch;
	}

	/** The object has received the batch. */
	confirm(batch: readonly Settlement[]): void {
		for (const { ticket } of batch) this.#settlements.delete(ticket);
		// A running flush notices by itself that the outbox is empty.
		if (this.#settlements.size === 0 && !this.#flushes.state) this.#owner.idle();
	}

	/** The object may not have received the batch. */
	release(batch: readonly Settlement[]): void {
		for (const { ticket } of batch) {
			const pending = this.#settlements.get(ticket);
			if (pending) pending.sentAt = undefined;
		}
		if (batch.length > 0) this.#ensureFlush();
	}

	#ensureFlush(): void {
		const full = this.#waiting() >= MAX_PENDING;
		const { state } = this.#flushes;
		// A flush that is sending notices by itself that the outbox is full again. A failing object gets no extra call.
		if (state && !(full && state === "waiting")) return;
		this.#countBeforeWait = this.#count;
		this.#flushes.start(full ? 0 : this.#flushAfterMs);
	}

	async #step(): Promise<number | undefined> {
		const oldest = this.#oldest();
		// The settlements that it waited for are delivered. The decision needs no clock, because a clock may go back.
		if (oldest && oldest.sequence > this.#countBeforeWait)
			return Math.min(oldest.addedAt + FLUSH_AFTER_MS - this.#services.now(), FLUSH_AFTER_MS);
		const batch = this.take();
		if (batch.length === 0) return undefined;
		this.#batch = batch;
		try {
			await this.#owner.send(batch);
		} catch (cause) {
			this.release(batch);
			throw cause;
		}
		this.confirm(batch);
		const waiting = this.#waiting();
		if (waiting === 0) return undefined;
		return waiting >= MAX_PENDING ? 0 : this.#flushAfterMs;
	}

	get #flushAfterMs(): number {
		const { gridMs } = this.#owner;
		return gridMs === undefined ? FLUSH_AFTER_MS : waitOf(gridMs, this.#services.now(), { gridMs });
	}

	/** The oldest settlement that no call carries. */
	#oldest(): PendingSettlement | undefined {
		const now = this.#services.now();
		for (const pending of this.#settlements.values()) if (isWaiting(pending, now)) return pending;
		return undefined;
	}

	#waiting(): number {
		const now = this.#services.now();
		let count = 0;
		for (const pending of this.#settlements.values()) if (isWaiting(pending, now)) count++;
		return count;
	}
}

const isWaiting = ({ sentAt }: PendingSettlement, now: number): boolean =>
	sentAt === undefined || isLost(sentAt, now);

/** Settles an admission whose answer was lost: if the account admitted the request, the reservation is released. */
export const failedSettlement = ({ ticket }: Admission): Settlement => ({
	...NOTHING_USED,
	ticket,
	outcome: "failed",
	latencyMs: 0,
	code: FAILURES.ledgerUnavailable.code,
});
