/**
 * Time as an account sees it: UTC days, and a clock that never goes back.
 *
 * A clock that goes back would open a rate window early and bring a spent day back, so the account stays at the latest
 * moment that it has seen until the clock has caught up. The price: after a clock that ran ahead, windows stay shut
 * and the day stays the later one for that long. Limits then hold too strictly, never too loosely.
 */
export const DAY_MS = 86_400_000;

/** Both milliseconds since the epoch. */
export interface Instant {
	/** Never before an earlier one. */
	now: number;
	/** What the clock says: waits that a caller is told run from here. */
	clock: number;
}

export class ForwardClock {
	#latest: number;
	readonly #clock: () => number;

	/** `latest`: the latest moment that the tables know of. */
	constructor(clock: () => number, latest: number) {
		this.#clock = clock;
		this.#latest = latest;
	}

	read(): Instant {
		const clock = this.#clock();
		this.#latest = Math.max(this.#latest, clock);
		return { now: this.#latest, clock };
	}
}

let lastDay = { number: 0, text: "1970-01-01" };

/** `2026-11-21`. Keeps the last one: to write a date costs more than all that an account does with it. */
export function utcDay(milliseconds: number): string {
	const number = Math.floor(milliseconds / DAY_MS);
	if (number !== lastDay.number)
		lastDay = { number, text: new Date(milliseconds).toISOString().slice(0, 10) };
	return lastDay.text;
}

export const startOfDay = (day: string): number => Date.parse(`${day}T00:00:00Z`);

export const nextMidnight = (milliseconds: number): number =>
	(Math.floor(milliseconds / DAY_MS) + 1) * DAY_MS;
