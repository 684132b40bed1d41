/**
 * Admits requests of one account from the leases of this isolate, and reports them to the account's object in batches.
 * Batches are numbered, and one is under way at a time: a batch without an answer is sent again unchanged, and the object books
 * each number once.
 */
import { type Flushes, type FlushWork, isLost } from "../../core/flush-schedule.ts";
import type {
	Admission,
	AdmissionGrant,
	JournalAnswer,
	JournalBatch,
	LeaseCheck,
	Renewal,
	Settlement,
} from "../admission.ts";
import { maxCost } from "../durable/budgets.ts";
import type { Lease, LeaseRequest } from "../lease.ts";
import {
	AFTER_GIVING_UP_MS,
	classKey,
	countDemand,
	firstUnusedAt,
	isChecked,
	type JournalPace,
	leaseFor,
	newClass,
	type RequestClass,
	reportUnsent,
	reserve,
	settleUnsent,
	takeUnused,
	type UnsentRequest,
	waitOf,
} from "./lease-demand.ts";
import { isScarce, nextLeaseRequest } from "./lease-size.ts";

/** The account client that made the journal. */
export interface JournalOwner {
	/** Throws if the object may not have received the batch. */
	sendJournal(batch: JournalBatch): Promise<JournalAnswer>;
	/** A flush has failed too often. The batch stays in the journal. */
	journalFailed(cause: unknown, batch: JournalBatch | undefined): void;
	/** Sends the batches. */
	flushesOf(work: FlushWork): Flushes;
	pace(): JournalPace;
	/** Until when all changes of the account are known. */
	confirmedAt(): number;
	/** The journal is empty and may be dropped. */
	journalIdle(journal: Journal): void;
}

export class Journal implements FlushWork {
	readonly #services: { now(): number };
	readonly #owner: JournalOwner;
	readonly #flushes: Flushes;
	readonly #id = crypto.randomUUID();
	readonly #classes = new Map<string, RequestClass>();
	/** Not part of a batch yet, by ticket. */
	readonly #requests = new Map<string, UnsentRequest>();
	/** When the object charges each request that it knows to be open, by ticket. */
	readonly #open = new Map<string, number>();
	#settlements: Settlement[] = [];
	#returned: string[] = [];
	#sequence = 0;
	/** When an answer named the account as changed. Checks that began before may be older than the change. */
	#changedAt = Number.NEGATIVE_INFINITY;
	/** Time of the latest step of a flush. */
	#steppedAt = Number.NEGATIVE_INFINITY;
	/** The next batch waits for a request, or until a lease is unused, or until a flush that has given up is made again. */
	#isResting = false;
	/** The batch that is not confirmed. */
	#batch: JournalBatch | undefined;

	constructor(services: { now(): number }, owner: JournalOwner) {
		this.#services = services;
		this.#owner = owner;
		this.#flushes = owner.flushesOf(this);
	}

	onGiveUp(cause: unknown): void {
		this.#owner.journalFailed(cause, this.#batch);
	}

	onEnd(): void {
		// The flush has given up. Without another one, what an account that falls silent has not reported would be lost.
		this.#isResting = this.#batch !== undefined;
		if (this.#batch) this.#flushes.start(AFTER_GIVING_UP_MS);
		// Another call has sent its batch meanwhile.
		else if (this.#classes.size + this.#unsent > 0) this.#ensureFlush();
		else if (this.#open.size === 0) this.#owner.journalIdle(this);
	}

	/** Admits the request, if a lease has room for it. */
	admit(admission: Admission): AdmissionGrant | undefined {
		const requestClass = this.#classes.get(classKey(admission));
		const cost = maxCost(admission.cost);
		const now = this.#services.now();
		const lease = requestClass && leaseFor(requestClass, cost, now);
		if (!lease || !isChecked(requestClass, now, this.#changedAt, this.#owner)) return undefined;
		lease.requests--;
		lease.microNeurons -= cost;
		countDemand(requestClass, admission, now, this.#owner.pace());
		requestClass.sinceBatch++;
		const { holdMs, ticket } = admission;
		const request = { lease: lease.id, ticket, afterMs: now - lease.requestedAt, reserved: cost };
		reserve(requestClass.use, cost);
		this.#requests.set(ticket, { request, use: requestClass.use, lease, expiresAt: now + holdMs });
		this.#ensureFlush();
		const { outputTokens, microNeuronsPerOutputToken } = admission.cost;
		const isBounded = lease.isBudgeted && outputTokens > 0 && microNeuronsPerOutputToken > 0;
		return { ...(isBounded && { outputTokens }), ...(lease.limited && { limited: true }) };
	}

	/** The account has changed: each lease must be checked. */
	recordChange(): void {
		this.#changedAt = this.#services.now();
	}

	/** What to check before leases can admit these requests, by the keys of their classes. */
	leasesToCheck(admissions: readonly Admission[]): Map<string, LeaseCheck> {
		const checks = new Map<string, LeaseCheck>();
		const now = this.#services.now();
		for (const admission of admissions) {
			const key = classKey(admission);
			const requestClass = this.#classes.get(key);
			if (!requestClass || isChecked(requestClass, now, this.#changedAt, this.#owner)) continue;
			if (!leaseFor(requestClass, maxCost(admission.cost), now)) continue;
			checks.set(key, { credential: admission.credential, leases: requestClass.leases.map(({ id }) => id) });
		}
		return checks;
	}

	/** The object's answers to the checks, in their order, to a call at `calledAt`. */
	recordChecks(checks: ReadonlyMap<string, LeaseCheck>, answers: readonly boolean[], calledAt: number): void {
		for (const [i, key] of [...checks.keys()].entries()) {
			const requestClass = this.#classes.get(key);
			if (!requestClass) continue;
			if (answers[i]) requestClass.checkedAt = Math.max(requestClass.checkedAt, calledAt);
			else this.#returnLeases(requestClass);
		}
	}

	/** The object has admitted the request, and granted a lease with it. The next batch can carry its settlement. */
	addOpen({ ticket, holdMs }: Admission): void {
		this.#open.set(ticket, this.#services.now() + holdMs);
	}

	/** The lease to request together with an admission. Nothing while another call requests one for the same class. */
	requestLease(admission: Admission): LeaseRequest | undefined {
		const now = this.#services.now();
		const key = classKey(admission);
		const requestClass = this.#classes.get(key) ?? newClass(admission, now);
		this.#classes.set(key, requestClass);
		countDemand(requestClass, admission, now, this.#owner.pace());
		reserve(requestClass.use, maxCost(admission.cost));
		this.#ensureFlush();
		return nextLeaseRequest(requestClass, now, this.#owner.pace(), this.#returned);
	}

	/** The answer to {@link requestLease}. */
	addLease(like: Pick<Admission, "credential" | "model">, { id }: LeaseRequest, lease?: Lease): void {
		const requestClass = this.#classes.get(classKey(like));
		// Otherwise the call was considered lost, and its lease is returned.
		if (requestClass?.pendingLease?.id !== id) return;
		const { at } = requestClass.pendingLease;
		if (lease) {
			requestClass.leases.push({ ...lease, requestedAt: at });
			requestClass.checkedAt = Math.max(requestClass.checkedAt, at);
		}
		requestClass.pendingLease = undefined;
	}

	/** The call failed. The lease may exist all the same. */
	leaseFailed(admission: Admission, leaseRequest: LeaseRequest): void {
		this.addLease(admission, leaseRequest, undefined);
		this.#returned.push(leaseRequest.id);
		this.#ensureFlush();
	}

	/** Returns false if no batch can carry the settlement. */
	settle(settlement: Settlement): boolean {
		const unsent = this.#requests.get(settlement.ticket);
		if (unsent) settleUnsent(unsent, settlement);
		else if (this.#open.delete(settlement.ticket)) this.#settlements.push(settlement);
		else return false;
		this.#ensureFlush();
		return true;
	}

	/**
	 * Reports everything so far, and returns the leases, so that the object's figures are exact. Sends a batch that is under way again,
	 * because another request waits for its answer. Throws if the object may not have received a batch.
	 */
	async flush(): Promise<void> {
		while (this.#batch) await this.#send(this.#batch);
		for (const requestClass of this.#classes.values()) this.#returnLeases(requestClass);
		const batch = this.#nextBatch({ renews: false });
		if (batch) await this.#send(batch);
	}

	/** Ends the wait for the next batch. */
	stop(): void {
		this.#flushes.stop();
	}

	/** Whether a flush may free a part of a limit. */
	get mayFreeRoom(): boolean {
		if (this.#batch || this.#requests.size > 0 || this.#settlements.length > 0) return true;
		for (const { leases } of this.#classes.values()) if (leases.length > 0) return true;
		return false;
	}

	/** Requests, settlements and returned leases that no batch contains. */
	get #unsent(): number {
		return this.#requests.size + this.#settlements.length + this.#returned.length;
	}

	#returnLeases({ leases }: RequestClass): void {
		this.#returned.push(...leases.splice(0).map(({ id }) => id));
	}

	#ensureFlush(): void {
		if (this.#flushes.state && !this.#isResting) return;
		this.#isResting = false;
		const pace = this.#owner.pace();
		const now = this.#services.now();
		// The flush before may have ended, or be lost, between two batches.
		const since = now - this.#steppedAt;
		const passed = since > 0 && since < pace.flushAfterMs ? since : 0;
		this.#flushes.start(waitOf(pace.flushAfterMs - passed, now, pace));
	}

	async step(): Promise<number | undefined> {
		this.#isResting = false;
		this.#steppedAt = this.#services.now();
		const batch = this.#nextBatch({ renews: true });
		if (batch) await this.#send(batch);
		else if (this.#classes.size === 0) return undefined;
		const pace = this.#owner.pace();
		const now = this.#services.now();
		const restMs = this.#unsent + this.#open.size > 0 ? 0 : firstUnusedAt(this.#classes.values()) - now;
		this.#isResting = restMs > pace.flushAfterMs;
		return waitOf(Math.max(restMs, pace.flushAfterMs), now, pace);
	}

	async #send(batch: JournalBatch): Promise<void> {
		const answer = await this.#owner.sendJournal(batch);
		if (this.#batch !== batch) return;
		this.#batch = undefined;
		for (const [i, renewal] of batch.renewals.entries()) this.addLease(renewal, renewal.lease, answer[i]);
	}

	/** The batch to send now. Nothing if there is nothing to report. */
	#nextBatch({ renews }: { renews: boolean }): JournalBatch | undefined {
		if (this.#batch) return this.#batch;
		const now = this.#services.now();
		const renewals = this.#dropUnused(now, renews);
		for (const [ticket, expiresAt] of this.#open) if (expiresAt <= now) this.#open.delete(ticket);
		// All of them, so a lease is returned with or after its last request. The leases bound their number.
		const unsent = [...this.#requests.values()];
		const settlements = this.#settlements.splice(0);
		const returned = this.#returned.splice(0);
		if (unsent.length + settlements.length + returned.length + renewals.length === 0) return undefined;
		this.#requests.clear();
		for (const each of unsent) if (reportUnsent(each)) this.#open.set(each.request.ticket, each.expiresAt);
		const requests = unsent.map(({ request }) => request);
		this.#batch = {
			...{ journal: this.#id, sequence: ++this.#sequence },
			...{ requests, settlements, returned, renewals },
		};
		return this.#batch;
	}

	/**
	 * Drops leases that do not pay for a request, have expired, or were not used for half of their time, and classes without any.
	 * `renews`: returns a request for a lease for each class that needs one.
	 */
	#dropUnused(now: number, renews: boolean): Renewal[] {
		const renewals: Renewal[] = [];
		const pace = this.#owner.pace();
		for (const [key, requestClass] of this.#classes) {
			this.#returned.push(...takeUnused(requestClass, now));
			const used = requestClass.sinceBatch;
			requestClass.sinceBatch = 0;
			requestClass.use.reserved = 0;
			if (renews && used > 0 && isScarce(requestClass, used, now, pace)) {
				const lease = nextLeaseRequest(requestClass, now, pace, this.#returned);
				const { ticket: _, ...latest } = requestClass.latest;
				if (lease) renewals.push({ ...latest, lease });
			} else if (used === 0 && requestClass.leases.length === 0) {
				const { pendingLease } = requestClass;
				if (pendingLease && !isLost(pendingLease.at, now)) continue;
				if (pendingLease) this.#returned.push(pendingLease.id);
				this.#classes.delete(key);
			}
		}
		return renewals;
	}
}
