/**
 * Requests that were charged their reservations, because no settlement had come in time. The process that runs one may only be late: it was paused,
 * or had too little CPU, and the alarm of the object came before its settlement. The settlement then replaces the charge, also if the object was
 * evicted meanwhile.
 */
import { utcDay } from "../clock.ts";
import type { LedgerBooks } from "./leased-requests.ts";
import { expiredSettlement, type OpenRequest } from "./request-rows.ts";
import type { TableOptions } from "./row-table.ts";

/** At the bound the oldest charge is final. */
const MAX_CHARGES = 1_000;

export class ExpiredRequests {
	readonly #books: LedgerBooks;
	/** By ticket, oldest first. */
	readonly #charged = new Map<string, OpenRequest>();

	constructor(books: LedgerBooks, { isNew = false }: TableOptions = {}) {
		this.#books = books;
		if (isNew) return;
		for (const request of books.requests.expiredRequests(MAX_CHARGES))
			this.#charged.set(request.ticket, request);
	}

	/** Part of the current transaction. */
	charge(expired: readonly OpenRequest[], now: number): void {
		if (expired.length === 0) return;
		const { budgets, requests, usage } = this.#books;
		const charges = expired.map((request) => [request, expiredSettlement(request)] as const);
		this.#makeRoom(charges.length);
		const finals = Math.max(0, charges.length - MAX_CHARGES);
		if (finals > 0) requests.settle(now, charges.slice(0, finals));
		for (const request of requests.expire(now, charges.slice(finals)))
			this.#charged.set(request.ticket, request);
		usage.addSettled(charges);
		for (const request of expired) {
			const { admittedAt, reserved } = request;
			budgets.book(utcDay(admittedAt), request, { spent: reserved, reserved: -reserved });
		}
	}

	/** Final charges are in segments, because a start reads all rows. */
	#makeRoom(added: number): void {
		const most = Math.max(0, MAX_CHARGES - added);
		const oldest = [...this.#charged.values()].slice(0, Math.max(0, this.#charged.size - most));
		if (oldest.length > 0) this.#books.requests.finish(oldest.map(({ id }) => id));
		for (const { ticket } of oldest) this.#charged.delete(ticket);
	}

	/** Removes the charge of the request, if it has one: it is open until its settlement. Part of the current transaction. */
	reopen(ticket: string): OpenRequest | undefined {
		const request = this.#charged.get(ticket);
		if (!request) return undefined;
		const { admittedAt, reserved } = request;
		this.#books.usage.removeCharge(request, reserved);
		this.#books.budgets.book(utcDay(admittedAt), request, { spent: -reserved, reserved });
		this.#charged.delete(ticket);
		return request;
	}
}
