/**
 * An account's requests and neurons: reserve, settle, expire. The only writer of its tables.
 *
 * The state that an admission needs (rate windows, spent and reserved neurons of the day and the month, open requests) is in
 * memory, exact, and rebuilt from the tables at the start. An admission writes one row. A settlement updates the row and adds to
 * the day's usage. A reservation belongs to the UTC day of its admission, and is settled on that day.
 */
import type { Admission, Admitted, CountedRequest, JournalBatch, Renewal, Settlement } from "../admission.ts";
import { correctionLog, ForwardClock, type Instant, monthOf, utcDay } from "../clock.ts";
import type { Lease } from "../lease.ts";
import { Budgets } from "./budgets.ts";
import { type Counted, CountedRequests } from "./counted-requests.ts";
import {
	budgetsOfToken,
	decide,
	keysOf,
	longestRefusal,
	type NamedToken,
	rateRefusal,
	type VerifiedToken,
	withTokenLimits,
} from "./decision.ts";
import { ExpiredRequests } from "./expired-requests.ts";
import { LeasedRequests, type LedgerBooks } from "./leased-requests.ts";
import type { BatchCopy } from "./leases.ts";
import { type LimitStatus, type LimitStatusQuery, usedOf, withTokenBudgets } from "./limit-status.ts";
import { Refusals } from "./refusals.ts";
import { type OpenRequest, type RequestRecord, validSettlement } from "./request-rows.ts";
import { Requests, type RequestsPage, type RequestsQuery } from "./requests.ts";
import type { AccountStorage, TableOptions } from "./row-table.ts";
import { Usage, type UsageQuery, type UsageReport } from "./usage.ts";
import { Windows } from "./windows.ts";

/** `token`: absent for the operator. */
export interface PendingAdmission {
	admission: Admission;
	token: VerifiedToken | undefined;
}

export class Ledger {
	readonly refusals: Refusals;
	readonly #storage: AccountStorage;
	readonly #clock: ForwardClock;
	readonly #requests: Requests;
	readonly #usage: Usage;
	readonly #windows = new Windows();
	readonly #counted: CountedRequests;
	readonly #leased: LeasedRequests;
	readonly #expired: ExpiredRequests;
	readonly #books: LedgerBooks;
	/** The open requests, by ticket. Settlement and expiry remove them. */
	readonly #open = new Map<string, OpenRequest>();

	/** `clock`: milliseconds since the epoch. */
	constructor(storage: AccountStorage, clock: () => number, options: TableOptions = {}) {
		this.#storage = storage;
		this.#requests = new Requests(storage, options);
		this.#usage = new Usage(storage);
		this.refusals = new Refusals(storage);
		this.#counted = new CountedRequests(storage, this.#windows);
		const latest = options.isNew ? 0 : Math.max(this.#requests.latest(), this.#usage.latest());
		this.#clock = new ForwardClock(clock, latest);
		this.#books = {
			requests: this.#requests,
			usage: this.#usage,
			windows: this.#windows,
			budgets: new Budgets(utcDay(clock())),
			reserve: (request, now) => this.#reserve(request, now),
			settle: (settlements, now) => this.#settle(settlements, now),
		};
		this.#leased = new LeasedRequests(storage, this.#books, options);
		this.#expired = new ExpiredRequests(this.#books, options);
		if (options.isNew) return;
		const instant = this.#clock.read();
		correctionLog.note(instant);
		this.#rebuild(instant.now);
	}

	/** Rebuilds the state in memory from the tables. */
	#rebuild(now: number): void {
		this.#windows.clear();
		for (const { rateKeys, admittedAt } of this.#requests.lastMinute(now))
			this.#windows.count(rateKeys, admittedAt);
		this.#counted.restore(now);
		this.#books.budgets = new Budgets(utcDay(now));
		for (const row of this.#usage.spent(monthOf(this.#books.budgets.day)))
			this.#books.budgets.book(row.day, row, { spent: row.microNeurons, reserved: 0 });
		this.#open.clear();
		for (const request of this.#requests.openRequests()) this.#reserve(request, now);
		this.#leased.restore(now);
	}

	/** The account's time. It goes back only to correct a clock that ran ahead. */
	now(): number {
		return this.#read().now;
	}

	/**
	 * Admits requests in order, with one write for all, then grants the leases that they request. Reserves the maximum cost of a request,
	 * or refuses it. A refusal is only counted, and nothing is written. If this throws, the caller must drop the ledger: its memory may be
	 * ahead of its tables.
	 */
	admitAll(pending: readonly PendingAdmission[]): Admitted[] {
		const opened: OpenRequest[] = [];
		const answers: Admitted[] = [];
		for (const { admission, token } of pending) answers.push(this.#admitOne(admission, token, opened));
		if (opened.length > 0) this.#requests.insert(opened);
		for (const [i, { admission, token }] of pending.entries()) {
			const answer = answers[i];
			const { lease: leaseRequest } = admission;
			if (!leaseRequest || !answer?.ok) continue;
			const lease = this.grantLease({ ...admission, lease: leaseRequest }, token);
			if (lease) answers[i] = { ...answer, lease };
		}
		return answers;
	}

	/** Counts a request that is not billed, or refuses it. If this throws, the caller must drop the ledger. */
	count(request: CountedRequest, token?: VerifiedToken): Counted {
		const instant = this.#read();
		const full = this.#counted.count(request, instant.now);
		if (!full) return { ok: true };
		this.refusals.count("rateLimited", { task: request.task, token: token?.id ?? "" }, instant.now);
		return longestRefusal([rateRefusal(full)], instant);
	}

	/** If this throws, the caller must drop the ledger. */
	grantLease(renewal: Renewal, token?: VerifiedToken, copy: BatchCopy = "new"): Lease | undefined {
		return this.#leased.grant(renewal, { token, copy, now: this.now() });
	}

	/** Whether the token's limits are those at the grants of the leases. */
	areLeasesCurrent(ids: readonly string[], token?: VerifiedToken): boolean {
		return this.#leased.areCurrent(ids, token);
	}

	/**
	 * Books a batch of requests that an isolate admitted from leases, unless it is a copy of a booked one. If this throws, the caller must
	 * drop the ledger.
	 */
	book(batch: JournalBatch): BatchCopy {
		const { now } = this.#read();
		return this.#storage.transactionSync(() => this.#leased.book(batch, now));
	}

	/** The first settlement of a ticket that is open or has expired counts. Writes all of the batch. If this throws, the caller must drop the ledger. */
	settle(settlements: readonly Settlement[]): void {
		const { now } = this.#read();
		this.#storage.transactionSync(() => this.#settle(settlements, now));
	}

	/** Part of the current transaction. */
	#settle(settlements: readonly Settlement[], now: number): void {
		const first = new Map<string, readonly [OpenRequest, Settlement]>();
		for (const settlement of settlements) {
			const { ticket } = settlement;
			const request = this.#open.get(ticket) ?? this.#expired.reopen(ticket);
			if (request && !first.has(ticket)) first.set(ticket, [request, validSettlement(settlement, request)]);
		}
		if (first.size === 0) return;
		const settled = [...first.values()];
		this.#requests.settle(now, settled);
		this.#usage.addSettled(settled);
		for (const [request, { microNeurons }] of settled) {
			this.#open.delete(request.ticket);
			this.#books.budgets.book(utcDay(request.admittedAt), request, {
				spent: microNeurons,
				reserved: -request.reserved,
			});
		}
	}

	/**
	 * Charges the expired requests their reservations, and leases that were not returned. If this throws, the caller must drop the
	 * ledger.
	 */
	expire(): void {
		const { now } = this.#read();
		const expired = [...this.#open.values()].filter(({ expiresAt }) => expiresAt <= now);
		this.#storage.transactionSync(() => {
			this.#leased.chargeOverdue(now);
			this.#expired.charge(expired, now);
		});
		for (const { ticket } of expired) this.#open.delete(ticket);
	}

	/** Forgives the charge of a lease. If this throws, the caller must drop the ledger. */
	forgiveLease(id: string): RequestRecord | undefined {
		const { now } = this.#read();
		return this.#storage.transactionSync(() => this.#leased.forgive(id, now));
	}

	/** Writes the counted refusals and deletes old rows. Returns when the next row may be deleted. */
	sweep(): number | undefined {
		const { now } = this.#read();
		this.#windows.deleteIdle(now);
		this.#counted.deleteExpired(now);
		this.#usage.deleteExpired(now);
		this.refusals.write();
		this.refusals.deleteExpired(now);
		this.#leased.deleteExpired(now);
		if (this.#requests.deleteExpired(now)) return now;
		const deletions = [this.#requests.nextExpiry(), this.#usage.nextExpiry(), this.refusals.nextExpiry()];
		const due = deletions.filter((time) => time !== undefined);
		return due.length > 0 ? Math.min(...due) : undefined;
	}

	/** No request is open, and no lease is held. */
	get isIdle(): boolean {
		return this.#open.size === 0 && this.#leased.nextExpiry() === Number.POSITIVE_INFINITY;
	}

	expiryOf(ticket: string): number | undefined {
		return this.#open.get(ticket)?.expiresAt;
	}

	/** When the next lease is charged, unless it is returned; infinite without one. */
	nextLeaseExpiry(): number {
		return this.#leased.nextExpiry();
	}

	/** When the next open request or lease expires. */
	nextExpiry(): number | undefined {
		let next = this.#leased.nextExpiry();
		for (const { expiresAt } of this.#open.values()) next = Math.min(next, expiresAt);
		return next === Number.POSITIVE_INFINITY ? undefined : next;
	}

	usage(query: UsageQuery): UsageReport {
		return this.#usage.report(query);
	}

	requests(query: RequestsQuery): RequestsPage {
		return this.#requests.page(query);
	}

	/** `all`: tokens whose budgets are added. */
	limitStatus(query: LimitStatusQuery, token?: VerifiedToken, all?: readonly NamedToken[]): LimitStatus {
		const instant = this.#read();
		const { request } = query;
		const { budgets, rates } = withTokenLimits(query, all ? undefined : token);
		const status: LimitStatus = {
			day: this.#books.budgets.day,
			open: this.#open.size,
			leases: this.#leased.size,
			...usedOf(
				{ budgets, rates },
				{ budgets: this.#books.budgets, windows: this.#windows, now: instant.now },
			),
			...(request && { answer: decide({ ...query, ...request }, token, this.#books, instant).answer }),
		};
		const named = all?.flatMap(({ name, ...one }) => budgetsOfToken(one).map((own) => ({ ...own, name })));
		return named ? withTokenBudgets(status, named, this.#books.budgets) : status;
	}

	/** Counts the request and adds it to `opened`, which the caller writes. */
	#admitOne(admission: Admission, token: VerifiedToken | undefined, opened: OpenRequest[]): Admitted {
		const { holdMs, model, task, ticket } = admission;
		const instant = this.#read();
		const { answer, rates, reserved } = decide(admission, token, this.#books, instant);
		const { now } = instant;
		const tokenId = token?.id ?? "";
		if (!answer.ok) {
			if (!admission.provisional) this.refusals.count(answer.failure, { task, token: tokenId }, now);
			return answer;
		}
		if (this.#open.has(ticket)) throw new Error(`Ticket ${ticket} is already open`);
		const rateKeys = keysOf(rates);
		const request = this.#requests.open({
			...{ ticket, model, task, rateKeys, reserved, token: tokenId },
			...{ admittedAt: now, expiresAt: now + holdMs },
		});
		opened.push(request);
		this.#windows.count(rateKeys, now);
		this.#reserve(request, now);
		return answer;
	}

	#read(): Instant {
		const instant = this.#clock.read();
		const { corrected, now } = instant;
		correctionLog.note(instant);
		// The new day may already have rows, from a time when the clock was ahead.
		if (corrected !== undefined || utcDay(now) !== this.#books.budgets.day) this.#rebuild(now);
		return instant;
	}

	/** A request that was admitted while the clock was ahead expires as long after `now` as planned after its admission. */
	#reserve(request: OpenRequest, now: number): void {
		const { admittedAt, expiresAt } = request;
		const held = admittedAt > now ? { ...request, expiresAt: now + (expiresAt - admittedAt) } : request;
		this.#open.set(request.ticket, held);
		this.#books.budgets.book(utcDay(admittedAt), request, { spent: 0, reserved: request.reserved });
	}
}
