/**
 * Settlements on their way from this isolate to one account's object.
 *
 * A call of the object costs more than all that a settlement does, so settlements wait for company: they go with the
 * account's next admission, or by a call of their own when one has waited for `FLUSH_AFTER_MS`, or at once when there
 * are `MAX_PENDING`. Where admissions are frequent, none waits for so long, and there is no call but theirs.
 * One leaves the outbox only when the object has it for certain. Sending one twice does no harm: the first counts.
 *
 * The flush lives in the context of the request that began it, and a runtime may end that context. So nothing here
 * waits for a flush to come back: after a while another request begins a new one, and sends again what was under way.
 */
import type { Settlement } from "../admission.ts";

const FLUSH_AFTER_MS = 100;
const MAX_PENDING = 100;
/**
 * While its object cannot be reached, each refused request of the account adds a failure. Beyond so many they are dropped:
 * all other settlements are of requests that the object admitted, so they are bounded.
 */
const MAX_ENTRIES = 10_000;
/** Failures in a row after which a flush leaves the rest to the next admission or settlement. */
const MAX_TRIES = 4;
/** Each wait after a failure is this much longer: 0.4, 1.6 and 6.4 seconds. */
const WAIT_GROWTH = 4;
/** A flush or a call so old may be dead. */
const LOST_AFTER_MS = 10_000;

export interface OutboxWorld {
	/** Keeps the context of the request alive that is running now. */
	waitUntil(promise: Promise<unknown>): void;
	wait(milliseconds: number): Promise<void>;
	now(): number;
}

/** Whose outbox it is. */
export interface OutboxOwner {
	/** Throws where the object may not have got them. */
	send(batch: readonly Settlement[]): Promise<void>;
	/** A flush gave up on these for now. */
	gaveUp(cause: unknown, batch: readonly Settlement[]): void;
	/** Nothing is left to do; the outbox may be thrown away. */
	idle(): void;
}

interface Entry {
	settlement: Settlement;
	/** The first is 1. */
	nth: number;
	addedAt: number;
	/** Absent while no call has it. */
	sentAt?: number | undefined;
}

interface Flush {
	begunAt: number;
	/** `idle`: waits for company. `retrying`: waits because a call failed. */
	state: "idle" | "sending" | "retrying";
}

export class Outbox {
	readonly #world: OutboxWorld;
	readonly #owner: OutboxOwner;
	/** By ticket, oldest first. */
	readonly #entries = new Map<string, Entry>();
	/** As many have come. */
	#count = 0;
	#flush: Flush | undefined;
	readonly #maxEntries: number;

	constructor(world: OutboxWorld, owner: OutboxOwner, maxEntries = MAX_ENTRIES) {
		this.#world = world;
		this.#owner = owner;
		this.#maxEntries = maxEntries;
	}

	/** Takes a settlement, of a ticket's the first. Never throws. */
	add(settlement: Settlement): void {
		const isDropped = settlement.outcome === "failed" && this.#entries.size >= this.#maxEntries;
		if (!isDropped && !this.#entries.has(settlement.ticket))
			this.#entries.set(settlement.ticket, { settlement, nth: ++this.#count, addedAt: this.#world.now() });
		this.#ensureFlush();
	}

	/** For a call that leaves now. It must be given back by {@link confirm} or {@link release}. */
	take(): Settlement[] {
		const batch: Settlement[] = [];
		const now = this.#world.now();
		for (const entry of this.#entries.values()) {
			if (batch.length === MAX_PENDING) break;
			if (!isWaiting(entry, now)) continue;
			entry.sentAt = now;
			batch.push(entry.settlement);
		}
		return batch;
	}

	/** The object has them. */
	confirm(batch: readonly Settlement[]): void {
		for (const { ticket } of batch) this.#entries.delete(ticket);
		// A flush that is under way sees by itself that nothing is left.
		if (this.#entries.size === 0 && !this.#isFlushing()) this.#owner.idle();
	}

	/** The object may not have them. */
	release(batch: readonly Settlement[]): void {
		for (const { ticket } of batch) {
			const entry = this.#entries.get(ticket);
			if (entry) entry.sentAt = undefined;
		}
		if (batch.length > 0) this.#ensureFlush();
	}

	#ensureFlush(): void {
		const full = this.#waiting() >= MAX_PENDING;
		// One that is sending sees by itself that the outbox is full again; an object that fails is left in peace.
		if (this.#isFlushing() && !(full && this.#flush?.state === "idle")) return;
		const next: Flush = { begunAt: this.#world.now(), state: "idle" };
		this.#flush = next;
		try {
			this.#world.waitUntil(this.#run(next, full ? 0 : FLUSH_AFTER_MS));
		} catch {
			// No request is running: the next one takes them along.
			this.#flush = undefined;
		}
	}

	/** As far as one can know. */
	#isFlushing(): boolean {
		return this.#flush !== undefined && this.#world.now() - this.#flush.begunAt < LOST_AFTER_MS;
	}

	async #run(flush: Flush, firstWait: number): Promise<void> {
		let wait = firstWait;
		let tries = 0;
		while (true) {
			const waitedFor = this.#count;
			if (wait > 0) await this.#world.wait(wait);
			// Another flush has taken over, or an admission took all.
			if (this.#flush !== flush) return;
			const oldest = this.#oldest();
			if (oldest && oldest.nth > waitedFor) {
				// Those for which it waited are delivered. A clock may have gone back: it says how long, but not whether.
				flush.state = "idle";
				tries = 0;
				wait = Math.min(oldest.addedAt + FLUSH_AFTER_MS - this.#world.now(), FLUSH_AFTER_MS);
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
					this.#owner.gaveUp(cause, batch);
					break;
				}
				wait = FLUSH_AFTER_MS * WAIT_GROWTH ** tries;
			}
			if (this.#waiting() === 0) break;
		}
		if (this.#flush !== flush) return;
		this.#flush = undefined;
		if (this.#entries.size === 0) this.#owner.idle();
	}

	/** The first of those that no call has. */
	#oldest(): Entry | undefined {
		const now = this.#world.now();
		for (const entry of this.#entries.values()) if (isWaiting(entry, now)) return entry;
		return undefined;
	}

	#waiting(): number {
		const now = this.#world.now();
		let count = 0;
		for (const entry of this.#entries.values()) if (isWaiting(entry, now)) count++;
		return count;
	}
}

const isWaiting = ({ sentAt }: Entry, now: number): boolean =>
	sentAt === undefined || now - sentAt >= LOST_AFTER_MS;
