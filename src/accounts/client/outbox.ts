/**
 * Batches this isolate's settlements for one account's object.
 *
 * A call of the object costs more than the work of a settlement, so settlements are batched: they go with the account's next
 * admission, or in a call of their own when one has waited for `FLUSH_AFTER_MS`, or at once when there are `MAX_PENDING`.
 * With frequent admissions no settlement waits so long, and there are no other calls.
 * A settlement stays in the outbox until the object has confirmed it. A second delivery is harmless: the first counts.
 *
 * A flush runs in the I/O context of the request that started it, and the runtime may end that context. So nothing here waits
 * for a flush to return: after `LOST_AFTER_MS` another request starts a new flush and sends the unconfirmed settlements again.
 */
import type { Settlement } from "../admission.ts";

const FLUSH_AFTER_MS = 100;
const MAX_PENDING = 100;
/**
 * While the object cannot be reached, each request of the account adds a failed settlement. At this bound they are dropped.
 * All other settlements belong to requests that the object admitted, so they are bounded.
 */
const MAX_SETTLEMENTS = 10_000;
/** Consecutive failures after which a flush stops. The next admission or settlement continues. */
const MAX_TRIES = 4;
/** The factor between waits after failures: 0.4, 1.6 and 6.4 seconds. */
const WAIT_GROWTH = 4;
/** A flush or a call of this age is considered lost. */
const LOST_AFTER_MS = 10_000;

export interface OutboxServices {
	/** Keeps the context of the current request alive. */
	waitUntil(promise: Promise<unknown>): void;
	wait(milliseconds: number): Promise<void>;
	now(): number;
}

/** The account client that owns the outbox. */
export interface OutboxOwner {
	/** Throws if the object may not have received the batch. */
	send(batch: readonly Settlement[]): Promise<void>;
	/** A flush has failed too often. The batch stays in the outbox. */
	givenUp(cause: unknown, batch: readonly Settlement[]): void;
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

interface Flush {
	startedAt: number;
	/** `idle`: waits for more settlements. `retrying`: waits because a call failed. */
	state: "idle" | "sending" | "retrying";
}

export class Outbox {
	readonly #services: OutboxServices;
	readonly #owner: OutboxOwner;
	/** By ticket, oldest first. */
	readonly #settlements = new Map<string, PendingSettlement>();
	/** Settlements so far. */
	#count = 0;
	#flush: Flush | undefined;
	readonly #max: number;

	constructor(services: OutboxServices, owner: OutboxOwner, maxSettlements = MAX_SETTLEMENTS) {
		this.#services = services;
		this.#owner = owner;
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
		if (this.#settlements.size === 0 && !this.#isFlushing()) this.#owner.idle();
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
		// A flush that is sending notices by itself that the outbox is full again. A failing object gets no extra call.
		if (this.#isFlushing() && !(full && this.#flush?.state === "idle")) return;
		const next: Flush = { startedAt: this.#services.now(), state: "idle" };
		this.#flush = next;
		try {
			this.#services.waitUntil(this.#run(next, full ? 0 : FLUSH_AFTER_MS));
		} catch {
			// No request is running: the next one sends them.
			this.#flush = undefined;
		}
	}

	/** Whether a flush is running that is not considered lost. */
	#isFlushing(): boolean {
		return this.#flush !== undefined && this.#services.now() - this.#flush.startedAt < LOST_AFTER_MS;
	}

	async #run(flush: Flush, firstWait: number): Promise<void> {
		let wait = firstWait;
		let tries = 0;
		while (true) {
			const lastBeforeWait = this.#count;
			if (wait > 0) await this.#services.wait(wait);
			// Another flush has replaced this one, or an admission has taken all settlements.
			if (this.#flush !== flush) return;
			const oldest = this.#oldest();
			if (oldest && oldest.sequence > lastBeforeWait) {
				// The settlements that it waited for are delivered. The decision needs no clock, because a clock may go back.
				flush.state = "idle";
				tries = 0;
				wait = Math.min(oldest.addedAt + FLUSH_AFTER_MS - this.#services.now(), FLUSH_AFTER_MS);
				continue;
			}
			const batch = this.take();
			if (batch.length === 0) break;
			flush.state = "sending";
			try {
				await this.#owner.send(batch);
				this.confirm(batch);
				flush.state = "idle";
				tries = 0;
				wait = this.#waiting() >= MAX_PENDING ? 0 : FLUSH_AFTER_MS;
			} catch (cause) {
				flush.state = "retrying";
				this.release(batch);
				tries++;
				if (tries === MAX_TRIES) {
					this.#owner.givenUp(cause, batch);
					break;
				}
				wait = FLUSH_AFTER_MS * WAIT_GROWTH ** tries;
			}
			if (this.#waiting() === 0) break;
		}
		if (this.#flush !== flush) return;
		this.#flush = undefined;
		if (this.#settlements.size === 0) this.#owner.idle();
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
	sentAt === undefined || now - sentAt >= LOST_AFTER_MS;
