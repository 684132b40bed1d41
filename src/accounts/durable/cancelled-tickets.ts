/**
 * Tickets whose failed settlement arrived before their admission. The admission must be refused: otherwise its reservation would
 * be held until it expires, and then be charged. In memory, for as long as the admission's call may be under way.
 */
const KEPT_MS = 60_000;
/** At the bound the oldest is dropped. */
const MAX_TICKETS = 1000;

export class CancelledTickets {
	/** Time of the cancellation of each ticket, oldest first. */
	readonly #tickets = new Map<string, number>();

	add(ticket: string, now: number): void {
		this.#tickets.delete(ticket);
		this.#tickets.set(ticket, now);
		for (const [oldest, at] of this.#tickets) {
			if (this.#tickets.size <= MAX_TICKETS && now - at < KEPT_MS) break;
			this.#tickets.delete(oldest);
		}
	}

	has(ticket: string): boolean {
		return this.#tickets.has(ticket);
	}
}
