/**
 * Admits requests of one account from the leases of this isolate, and reports them to the account's object in batches.
 *
 * Batches are numbered, and one is under way at a time: a batch without an answer is sent again unchanged, and the object books
 * each number once. A flush runs in the I/O context of the request that started it, and the runtime may end that context. So
 * another request starts a new flush after `LOST_AFTER_MS`.
 */
import type { Admission, Granted, Settlement } from "../admission.ts";
import { maxCost } from "../durable/budgets.ts";
import type { JournalAnswer, JournalBatch, Lease, LeasedRequest, LeaseRequest, Renewal } from "../lease.ts";
import type { OutboxWorld } from "./outbox.ts";

/** A batch is one commit of the object. */
const FLUSH_AFTER_MS = 250;
/** A flush of this age is considered lost, and so is a call for a lease. */
const LOST_AFTER_MS = 10_000;
/** Consecutive failures after which a flush stops. The next request continues. */
const MAX_TRIES = 4;
/** Waits after failures: 0.4, 1.6 and 6.4 seconds. */
const RETRY_MS = 100;
const WAIT_GROWTH = 4;
/** Requests in one batch. */
const MAX_BATCH = 1000;
const SECOND_MS = 1000;

export interface JournalOwner {
	/** Throws if the object may not have received the batch. */
	send(batch: JournalBatch): Promise<JournalAnswer>;
	/** A flush has failed too often. The batch stays in the journal. */
	givenUp(cause: unknown, batch: JournalBatch): void;
	/** The journal is empty and may be dropped. */
	idle(): void;
}

interface UsableLease extends Lease {
	/** When the isolate asked for it. */
	askedAt: number;
}

/** Similar requests: the same credential and the same model. */
interface RequestClass {
	/** The latest one, as an example for the object. */
	latest: Admission;
	leases: UsableLease[];
	/** Requests of the current second and of the one before. */
	current: number;
	previous: number;
	since: number;
	/** Admitted from leases since the last batch. */
	sinceBatch: number;
	/** A call for a lease is under way. */
	asked?: { id: string; at: number } | undefined;
}

interface UnsentRequest {
	request: LeasedRequest;
	/** When the object charges it, if it is not settled. */
	expiresAt: number;
}

export class Journal {
	readonly #services: OutboxWorld;
	readonly #owner: JournalOwner;
	readonly #id = crypto.randomUUID();
	readonly #classes = new Map<string, RequestClass>();
	/** Not part of a batch yet, by ticket. */
	readonly #requests = new Map<string, UnsentRequest>();
	/** Requests that a batch contained without a settlement: when the object charges them, by ticket. */
	readonly #open = new Map<string, number>();
	#settlements: Settlement[] = [];
	#returned: string[] = [];
	#sequence = 0;
	/** The batch that is not confirmed. */
	#batch: JournalBatch | undefined;
	#flush: { startedAt: number } | undefined;

	constructor(services: OutboxWorld, owner: JournalOwner) {
		this.#services = services;
		this.#owner = owner;
	}

	/** Admits the request, if a lease has room for it. */
	admit(admission: Admission): Granted | undefined {
		const similar = this.#classes.get(keyOf(admission));
		const cost = maxCost(admission.cost);
		const now = this.#services.now();
		const lease = similar?.leases.find(
			({ askedAt, ms, requests, microNeurons }) => now < askedAt + ms && requests > 0 && microNeurons >= cost,
		);
		if (!similar || !lease) return undefined;
		lease.requests--;
		lease.microNeurons -= cost;
		count(similar, admission, now);
		similar.sinceBatch++;
		const { holdMs, ticket } = admission;
		const request = { lease: lease.id, ticket, afterMs: now - lease.askedAt, reserved: cost };
		this.#requests.set(ticket, { request, expiresAt: now + holdMs });
		this.#ensureFlush();
		const { outputTokens, microNeuronsPerOutputToken } = admission.cost;
		const isBounded = lease.isBudgeted && outputTokens > 0 && microNeuronsPerOutputToken > 0;
		return { ...(isBounded && { outputTokens }), ...(lease.limited && { limited: true }) };
	}

	/** What to ask for together with an admission. Nothing while another call asks for similar requests. */
	ask(admission: Admission): LeaseRequest | undefined {
		const now = this.#services.now();
		const key = keyOf(admission);
		const similar = this.#classes.get(key) ?? {
			latest: admission,
			leases: [],
			...{ current: 0, previous: 0, since: now, sinceBatch: 0 },
		};
		this.#classes.set(key, similar);
		count(similar, admission, now);
		this.#ensureFlush();
		return this.#wish(similar, now);
	}

	/** The answer to {@link ask}. */
	receive(admission: Admission, { id }: LeaseRequest, lease: Lease | undefined): void {
		this.#receive(admission, id, lease);
	}

	/** The call failed. The lease may exist all the same. */
	receiveNothing(admission: Admission, { id }: LeaseRequest): void {
		this.#receive(admission, id, undefined);
		this.#returned.push(id);
	}

	/** Whether the request was admitted from a lease. */
	settle(settlement: Settlement): boolean {
		const unsent = this.#requests.get(settlement.ticket);
		if (unsent) {
			unsent.request.settlement ??= settlement;
			return true;
		}
		if (!this.#open.delete(settlement.ticket)) return false;
		this.#settlements.push(settlement);
		this.#ensureFlush();
		return true;
	}

	#wish(similar: RequestClass, now: number): LeaseRequest | undefined {
		if (similar.asked && now - similar.asked.at < LOST_AFTER_MS) return undefined;
		// The answer of a lost call may have been a lease.
		if (similar.asked) this.#returned.push(similar.asked.id);
		const id = `lease-${crypto.randomUUID()}`;
		similar.asked = { id, at: now };
		const requests = Math.max(similar.current, similar.previous) + 1;
		return { id, requests, microNeurons: requests * maxCost(similar.latest.cost) };
	}

	#receive(like: Pick<Admission, "credential" | "model">, id: string, lease: Lease | undefined): void {
		const similar = this.#classes.get(keyOf(like));
		// Otherwise the call was considered lost, and its lease is returned.
		if (similar?.asked?.id !== id) return;
		if (lease) similar.leases.push({ ...lease, askedAt: similar.asked.at });
		similar.asked = undefined;
	}

	#ensureFlush(): void {
		const now = this.#services.now();
		if (this.#flush && now - this.#flush.startedAt < LOST_AFTER_MS) return;
		const flush = { startedAt: now };
		this.#flush = flush;
		try {
			this.#services.waitUntil(this.#run(flush));
		} catch {
			// No request is running: the next one flushes.
			this.#flush = undefined;
		}
	}

	async #run(flush: { startedAt: number }): Promise<void> {
		let tries = 0;
		for (;;) {
			await this.#services.wait(tries === 0 ? FLUSH_AFTER_MS : RETRY_MS * WAIT_GROWTH ** tries);
			if (this.#flush !== flush) return;
			const batch = this.#nextBatch();
			if (!batch) {
				if (this.#classes.size > 0) continue;
				break;
			}
			try {
				const answer = await this.#owner.send(batch);
				if (this.#batch === batch) this.#confirm(batch, answer);
				tries = 0;
			} catch (cause) {
				if (++tries === MAX_TRIES) {
					this.#owner.givenUp(cause, batch);
					break;
				}
			}
		}
		if (this.#flush !== flush) return;
		this.#flush = undefined;
		if (!this.#batch && this.#open.size === 0) this.#owner.idle();
	}

	/** The batch to send now. Nothing if there is nothing to report. */
	#nextBatch(): JournalBatch | undefined {
		if (this.#batch) return this.#batch;
		const now = this.#services.now();
		const renewals = this.#dropUnused(now);
		for (const [ticket, expiresAt] of this.#open) if (expiresAt <= now) this.#open.delete(ticket);
		const unsent = [...this.#requests.values()].slice(0, MAX_BATCH);
		const settlements = this.#settlements.splice(0, MAX_BATCH);
		// A lease is returned after all its requests are reported.
		const returned = unsent.length === this.#requests.size ? this.#returned.splice(0) : [];
		if (unsent.length + settlements.length + returned.length + renewals.length === 0) return undefined;
		for (const { request, expiresAt } of unsent) {
			this.#requests.delete(request.ticket);
			if (!request.settlement) this.#open.set(request.ticket, expiresAt);
		}
		this.#batch = {
			journal: this.#id,
			sequence: ++this.#sequence,
			requests: unsent.map(({ request }) => request),
			settlements,
			returned,
			renewals,
		};
		return this.#batch;
	}

	/** Drops leases that are used up or expired, and classes without any. Returns a wish for each class that needs more. */
	#dropUnused(now: number): Renewal[] {
		const renewals: Renewal[] = [];
		for (const [key, similar] of this.#classes) {
			const isUsable = ({ askedAt, ms, requests }: UsableLease) => now < askedAt + ms && requests > 0;
			for (const lease of similar.leases) if (!isUsable(lease)) this.#returned.push(lease.id);
			similar.leases = similar.leases.filter(isUsable);
			const remaining = similar.leases.reduce((sum, { requests }) => sum + requests, 0);
			const used = similar.sinceBatch;
			similar.sinceBatch = 0;
			if (used > 0 && remaining < 2 * used) {
				const lease = this.#wish(similar, now);
				const { ticket: _, ...latest } = similar.latest;
				if (lease) renewals.push({ ...latest, lease });
			} else if (used === 0 && similar.leases.length === 0) {
				const { asked } = similar;
				if (asked && now - asked.at < LOST_AFTER_MS) continue;
				if (asked) this.#returned.push(asked.id);
				this.#classes.delete(key);
			}
		}
		return renewals;
	}

	#confirm({ renewals }: JournalBatch, answer: JournalAnswer): void {
		this.#batch = undefined;
		for (const [i, renewal] of renewals.entries()) this.#receive(renewal, renewal.lease.id, answer[i]);
	}
}

/** Counts a request in the demand of its class. */
function count(similar: RequestClass, admission: Admission, now: number): void {
	const age = now - similar.since;
	if (age >= SECOND_MS) {
		similar.previous = age < 2 * SECOND_MS ? similar.current : 0;
		similar.current = 0;
		similar.since = now;
	}
	similar.current++;
	similar.latest = admission;
}

const keyOf = ({ credential, model }: Pick<Admission, "credential" | "model">): string =>
	`${credential.kind === "token" ? credential.hash : ""}\n${model}`;
