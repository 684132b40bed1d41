/**
 * Requests that were charged their reservations, because no settlement had come in time. The process that runs one may only be late: it was paused,
 * or had too little CPU, and the alarm of the object came before its settlement. The settlement then replaces the charge, also if the object was
 * evicted meanwhile.
 */
import type { Settlement } from "../admission.ts";
import { utcDay } from "../clock.ts";
import type { LedgerBooks } from "./leased-requests.ts";
import { expiredSettlement, type OpenRequest, validSettlement } from "./request-rows.ts";
import type { TableOptions } from "./row-table.ts";

/** At the bound the oldest charge is final. */
const MAX_CHARGES = 1_000;

interface Charge {
	request: OpenRequest;
	/** Of its row. */
	id: number;
}

export class ExpiredRequests {
	readonly #books: LedgerBooks;
	/** By ticket, oldest first. */
	readonly #charges = new Map<string, Charge>();

	constructor(books: LedgerBooks, { isNew = false }: TableOptions = {}) {
		this.#books = books;
		if (isNew) return;
		for (const request of books.requests.expiredRequests(MAX_CHARGES))
			this.#charges.set(request.ticket, { request, id: request.id });
	}

	/** Part of the current transaction. */
	charge(expired: readonly OpenRequest[], now: number): void {
		if (expired.length === 0) return;
		const { budgets, requests, usage } = this.#books;
		const charged = expired.map((request) => [request, expiredSettlement(request)] as const);
		this.#makeRoom(charged.length);
		const finals = Math.max(0, charged.length - MAX_CHARGES);
		if (finals > 0) requests.settle(now, charged.slice(0, finals));
		const ids = requests.expire(now, charged.slice(finals));
		usage.addSettled(charged);
		for (const [i, request] of expired.entries()) {
			const { admittedAt, reserved, ticket } = request;
			budgets.book(utcDay(admittedAt), request, { spent: reserved, reserved: -reserved });
			const id = ids[i - finals];
			if (id !== undefined) this.#charges.set(ticket, { request, id });
		}
	}

	/** Final charges are in segments, because a start reads all rows. */
	#makeRoom(added: number): void {
		const most = Math.max(0, MAX_CHARGES - added);
		const oldest = [...this.#charges].slice(0, Math.max(0, this.#charges.size - most));
		if (oldest.length > 0) this.#books.requests.finish(oldest.map(([, { id }]) => id));
		for (const [ticket] of oldest) this.#charges.delete(ticket);
	}

	/** Replaces the charge of the request, if it has one. Part of the current transaction. */
	settle(settlement: Settlement, now: number): void {
		const { id, request } = this.#charges.get(settlement.ticket) ?? {};
		if (!request || id === undefined) return;
		const { requests, usage } = this.#books;
		const settled = [request, validSettlement(settlement, request)] as const;
		requests.replaceCharge(id, now, settled);
		usage.removeCharge(request);
		usage.addSettled([settled]);
		const spent = settled[1].microNeurons - request.reserved;
		this.#books.budgets.book(utcDay(request.admittedAt), request, { spent, reserved: 0 });
		this.#charges.delete(request.ticket);
	}
}
