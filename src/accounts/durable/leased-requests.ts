/** Grants leases, books the requests that isolates admitted from them, and charges leases that were not returned. */
import type { JournalBatch, LeasedRequest, Renewal, Settlement } from "../admission.ts";
import { nextMidnight, utcDay } from "../clock.ts";
import { LEASE_MS, type Lease, MAX_LEASE_MS } from "../lease.ts";
import { type Budgets, maxCost } from "./budgets.ts";
import { keysOf, remainingInRates, type VerifiedToken, withTokenLimits } from "./decision.ts";
import { type BatchCopy, grantedLease, type HeldLease, Leases } from "./leases.ts";
import {
	expiredSettlement,
	type OpenRequest,
	type RequestRecord,
	requestRecord,
	takenFromLease,
} from "./request-rows.ts";
import type { Requests } from "./requests.ts";
import type { AccountRows, TableOptions } from "./row-table.ts";
import type { Charge, Usage } from "./usage.ts";
import type { Windows } from "./windows.ts";

/** The parts of the ledger that leased requests use. */
export interface LedgerBooks {
	requests: Requests;
	usage: Usage;
	windows: Windows;
	/** Another object after midnight. */
	budgets: Budgets;
	/** Adds an open request to the ledger's memory. */
	reserve(request: OpenRequest, now: number): void;
	/** Settles open requests. Part of the current transaction. */
	settle(settlements: readonly Settlement[], now: number): void;
}

/** The share of the room in each limit that one lease may take: other leases and requests use it too. */
const SHARE = 1 / 8;
/** The same for a lease of more than a second. If it is too small for the request, a lease of a second is granted. */
const LONG_SHARE = 1 / 64;
const MAX_REQUESTS = 10_000;

interface Grant {
	/** Absent for the operator. */
	token: VerifiedToken | undefined;
	/** Of the batch that requests it. */
	copy: BatchCopy;
	now: number;
}

export class LeasedRequests extends Leases {
	readonly #books: LedgerBooks;

	constructor(rows: AccountRows, books: LedgerBooks, options?: TableOptions) {
		super(rows, options);
		this.#books = books;
	}

	/** Leases that are neither returned nor charged. */
	get size(): number {
		return [...this.held()].length;
	}

	/** Reserves the leases in memory, after the ledger has cleared it. */
	restore(now: number): void {
		for (const lease of this.held()) {
			// The clock may have been ahead when it was granted.
			lease.expiresAt = Math.min(lease.expiresAt, now + lease.expiresAt - lease.grantedAt);
			this.#hold(lease, lease.requests, lease.microNeurons);
		}
	}

	/**
	 * Grants at most the requested size. Returns nothing if the share does not pay for a single request. A copy of the request gets the
	 * same lease, because the first answer may be lost. It never gets another one: the isolate may have the first answer, and would neither
	 * use nor return it.
	 */
	grant(renewal: Renewal, { token, copy, now }: Grant): Lease | undefined {
		const { holdMs, lease: leaseRequest, model, task } = renewal;
		const { budgets, rates, limited } = withTokenLimits(renewal, token);
		const limitFlags = { isBudgeted: budgets.length > 0, limited };
		const granted = this.get(leaseRequest.id);
		if (granted) return grantedLease(granted, limitFlags);
		if (copy !== "new") return undefined;
		const balances = this.#books.budgets;
		const admitted = remainingInRates(rates, this.#books.windows, now);
		const remaining = budgets.map((budget) => balances.remaining(budget));
		// Only the rates limit the number of requests of a lease; the budgets limit its neurons.
		const sizeOf = (share: number) => ({
			requests: Math.min(leaseRequest.requests, MAX_REQUESTS, Math.floor(admitted * share)),
			microNeurons: Math.min(leaseRequest.microNeurons, ...remaining.map((each) => Math.floor(each * share))),
		});
		const longest = Math.min(leaseRequest.ms ?? LEASE_MS, MAX_LEASE_MS);
		const long = sizeOf(LONG_SHARE);
		const isLong =
			longest > LEASE_MS &&
			long.requests === leaseRequest.requests &&
			long.microNeurons === leaseRequest.microNeurons;
		const { requests, microNeurons } = isLong ? long : sizeOf(SHARE);
		const isRefused = renewal.unpriced && limited;
		if (isRefused || requests < 1 || microNeurons < maxCost(renewal.cost)) return undefined;
		const lease: HeldLease = {
			id: leaseRequest.id,
			grantedAt: now,
			// Its requests belong to the day of its grant.
			expiresAt: Math.min(
				now + (isLong ? longest : LEASE_MS),
				nextMidnight(now),
				token?.expiresOn ?? Number.POSITIVE_INFINITY,
			),
			holdMs,
			model,
			task,
			token: token?.id ?? "",
			rateKeys: keysOf(rates),
			requests,
			microNeurons,
			...(token && { limits: token.limits }),
		};
		this.write(lease);
		this.#hold(lease, lease.requests, lease.microNeurons);
		return grantedLease(lease, limitFlags);
	}

	/** Whether all of them are held, and were granted with the token's present limits. */
	areCurrent(ids: readonly string[], token: VerifiedToken | undefined): boolean {
		return ids.every((id) => {
			const lease = this.get(id);
			// A change of a token replaces the object with its limits.
			return lease && !isCharged(lease) && lease.limits === token?.limits;
		});
	}

	/** Books a batch, in the current transaction. A copy of one that is booked changes nothing. */
	book(batch: JournalBatch, now: number): BatchCopy {
		const copy = this.begin(batch, now);
		if (copy !== "new") return copy;
		const opened: OpenRequest[] = [];
		const used = new Set<HeldLease>();
		for (const request of batch.requests) {
			const lease = this.get(request.lease);
			// It is returned, or its charge is final: the report arrived more than an hour late.
			if (!lease) continue;
			used.add(lease);
			opened.push(this.#open(request, lease, now));
		}
		const settled = batch.requests.flatMap(({ settlement }) => settlement ?? []);
		const tickets = new Set(settled.map(({ ticket }) => ticket));
		const open = opened.filter(({ ticket }) => !tickets.has(ticket));
		if (open.length > 0) this.#books.requests.insert(open);
		this.#books.settle([...settled, ...batch.settlements], now);
		const returned = new Set(batch.returned);
		for (const lease of used) if (!returned.has(lease.id) || isCharged(lease)) this.write(lease);
		for (const id of returned) this.#return(id);
		return copy;
	}

	/** Charges what remains of leases that were not returned in time. Part of the current transaction. */
	chargeOverdue(now: number): void {
		for (const lease of this.overdue(now)) {
			this.#hold(lease, -lease.requests, -lease.microNeurons);
			const { id: ticket, grantedAt: admittedAt, microNeurons, requests, rateKeys } = lease;
			// All of its requests are reported, so nothing is unknown.
			if (requests === 0) {
				this.delete(ticket);
				continue;
			}
			for (let i = 0; i < requests; i++) this.#books.windows.count(rateKeys, now);
			const { expiresAt, model, task, token } = lease;
			const request = this.#books.requests.open({
				...{ ticket, admittedAt, expiresAt, model, task, token, rateKeys },
				reserved: microNeurons,
			});
			const charge = [request, expiredSettlement(request)] as const;
			lease.chargeId = this.#books.requests.charge(now, charge);
			this.#books.usage.addSettled([charge]);
			this.#books.budgets.book(utcDay(admittedAt), lease, { spent: microNeurons, reserved: 0 });
			this.write(lease);
		}
	}

	/** Part of the current transaction. Returns nothing if no such lease is charged. A second time changes nothing. */
	forgive(id: string, now: number): RequestRecord | undefined {
		const { requests, usage } = this.#books;
		const row = requests.charged(id);
		if (row && row.forgivenAt === undefined) {
			const { microNeurons = 0 } = row;
			usage.reduce(row, microNeurons);
			this.#books.budgets.book(utcDay(row.admittedAt), row, { spent: -microNeurons, reserved: 0 });
			requests.forgive(row, now);
			// A later report does not reduce the charge again.
			const lease = this.get(id);
			if (lease) this.write({ ...lease, microNeurons: 0 });
		}
		const forgiven = requests.charged(id);
		return forgiven && requestRecord(forgiven);
	}

	/** Moves the reservation of one request out of its lease. */
	#open(request: LeasedRequest, lease: HeldLease, now: number): OpenRequest {
		const { afterMs, reserved, ticket } = request;
		const { expiresAt, grantedAt, holdMs, model, task, token, rateKeys } = lease;
		const part = { requests: 1, microNeurons: Math.min(takenFromLease(request), lease.microNeurons) };
		if (isCharged(lease)) this.#reduceCharge(lease, part.microNeurons);
		else this.#hold(lease, -part.requests, -part.microNeurons);
		lease.requests = Math.max(0, lease.requests - part.requests);
		lease.microNeurons -= part.microNeurons;
		const admittedAt = Math.min(grantedAt + Math.max(0, afterMs), expiresAt - 1);
		const opened = this.#books.requests.open({
			...{ ticket, admittedAt, model, task, token, rateKeys, reserved },
			expiresAt: admittedAt + holdMs,
		});
		// Later than the admission, so the window has more than it must, never less.
		this.#books.windows.count(rateKeys, now);
		this.#books.reserve(opened, now);
		return opened;
	}

	/** Frees the unused part of the lease. */
	#return(id: string): void {
		const lease = this.get(id);
		if (!lease) return;
		if (isCharged(lease)) this.#removeCharge(lease);
		else this.#hold(lease, -lease.requests, -lease.microNeurons);
		this.delete(id);
	}

	#reduceCharge(lease: HeldLease, microNeurons: number): void {
		this.#books.requests.reduceCharge(lease.chargeId ?? 0, microNeurons);
		this.#books.usage.reduce(chargeOf(lease), microNeurons);
		this.#books.budgets.book(utcDay(lease.grantedAt), lease, { spent: -microNeurons, reserved: 0 });
	}

	/** All requests of the lease are reported: its isolate was only late. A charge that was forgiven stays, as a record. */
	#removeCharge(lease: HeldLease): void {
		const { budgets, requests, usage } = this.#books;
		if (requests.charged(lease.id)?.forgivenAt !== undefined) return;
		requests.removeCharge(lease.chargeId ?? 0);
		usage.removeCharge(chargeOf(lease), lease.microNeurons);
		budgets.book(utcDay(lease.grantedAt), lease, { spent: -lease.microNeurons, reserved: 0 });
	}

	/** A negative part is released. */
	#hold(lease: HeldLease, requests: number, microNeurons: number): void {
		this.#books.windows.hold(lease.rateKeys, requests);
		this.#books.budgets.book(utcDay(lease.grantedAt), lease, { spent: 0, reserved: microNeurons });
	}
}

const chargeOf = ({ grantedAt, model, task, token }: HeldLease): Charge => ({
	admittedAt: grantedAt,
	...{ model, task, token },
});

const isCharged = ({ chargeId }: HeldLease): boolean => chargeId !== undefined;
