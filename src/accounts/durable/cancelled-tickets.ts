/**
 * Requests that were given up before the account had seen them: the admission is still on its way, its settlement was
 * faster. In memory, for as long as a call may be under way: to let one in would hold its reservation until it becomes
 * a bill that nobody owes.
 */
const KEPT_MS = 60_000;
/** Of more, the oldest are forgotten. */
const MAX_TICKETS = 1000;

export class CancelledTickets {
	/** When each ticket was given up, oldest first. */
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
