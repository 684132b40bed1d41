/**
 * Tickets whose failed settlement arrived before their admission. The admission must be refused: otherwise its reservation would
 * be held until it expires, and then be charged. In memory, for as long as the admission's call may be under way.
 */
const KEPT_MS = 60_000;
/** At the bound the oldest is dropped. */
const MAX_TICKETS = 1000;

/** The time of the cancellation of each ticket, oldest first. */
export class CancelledTickets extends Map<string, number> {
	add(ticket: string, now: number): void {
		this.delete(ticket);
		this.set(ticket, now);
		for (const [oldest, at] of this) {
			if (this.size <= MAX_TICKETS && now - at < KEPT_MS) break;
			this.delete(oldest);
		}
	}
}
