/**
 * Time as an account sees it: UTC days, and a clock that never goes back.
 *
 * A clock that goes back would open a rate window early and bring a spent day back, so the account stays at the latest
 * moment that it has seen until the clock has caught up: limits then hold too strictly, never too loosely. A clock that ran
 * ahead by more than {@link MAX_LEAD_MS} was wrong: the account returns to the clock, or it would be blocked until then.
 */
/** More than clocks are adjusted by while a machine runs. */
export const MAX_LEAD_MS = 5 * 60_000;
export const DAY_MS = 86_400_000;

/** Both milliseconds since the epoch. */
export interface Instant {
	/** Never before an earlier one. */
	now: number;
	/** What the clock says: waits that a caller is told run from here. */
	clock: number;
	/** The account was so far ahead that it returned to the clock. Milliseconds. */
	corrected?: number;
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
		const lead = this.#latest - clock;
		if (lead > MAX_LEAD_MS) {
			this.#latest = clock;
			return { now: clock, clock, corrected: lead };
		}
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

/** `2026-11`, of `2026-11-21`. */
export const monthOf = (day: string): string => day.slice(0, 7);

export const startOfDay = (day: string): number => Date.parse(`${day}T00:00:00Z`);

export const nextMidnight = (milliseconds: number): number =>
	(Math.floor(milliseconds / DAY_MS) + 1) * DAY_MS;

export function nextMonth(milliseconds: number): number {
	const date = new Date(milliseconds);
	return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}

/** For the operator: limits of the time in between may be wrong. */
export const logCorrection = (milliseconds: number): void =>
	console.error(
		JSON.stringify({
			message: "The clock ran ahead before: an account returned to the present time",
			ahead_seconds: Math.round(milliseconds / 1000),
		}),
	);
