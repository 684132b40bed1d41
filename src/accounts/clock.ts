/**
 * The time of an account: UTC days, and a clock that does not go back.
 *
 * If the clock went back, a rate window would open early and a spent day would return. So the account keeps its latest time until
 * the clock reaches it: limits are then too strict, never too loose. If the account is ahead of the clock by more than
 * {@link MAX_LEAD_MS}, the clock was wrong before: the account returns to the clock, because it would be blocked until then.
 */
import { SetBackClock } from "../core/elapsed.ts";

/** More than the usual adjustment of a clock on a running machine. */
const MAX_LEAD_MS = 5 * 60_000;
export const DAY_MS = 86_400_000;

/** Both milliseconds since the epoch. */
export interface Instant {
	/** Not before an earlier `now`, except after a correction. */
	now: number;
	/** The time of the clock. `Retry-After` counts from here. */
	clock: number;
	/** Milliseconds by which the account was ahead, if it returned to the clock. */
	corrected?: number;
}

export class ForwardClock {
	#latest: number;
	readonly #clock: () => number;

	/** `latest`: the latest time in the tables. */
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

/** `2026-11-21`. Caches the last day, because formatting a date costs more than the rest of an admission. */
export function utcDay(milliseconds: number): string {
	const number = Math.floor(milliseconds / DAY_MS);
	if (number !== lastDay.number)
		lastDay = { number, text: new Date(milliseconds).toISOString().slice(0, 10) };
	return lastDay.text;
}

/** `2026-11` for `2026-11-21`. */
export const monthOf = (day: string): string => day.slice(0, 7);

export const startOfDay = (day: string): number => Date.parse(`${day}T00:00:00Z`);

export const nextMidnight = (milliseconds: number): number =>
	(Math.floor(milliseconds / DAY_MS) + 1) * DAY_MS;

export function nextMonth(milliseconds: number): number {
	const date = new Date(milliseconds);
	return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}

/**
 * The log of corrections, for the operator, because limits may have been wrong in the meantime. One line tells of a clock that ran ahead: it has
 * many accounts, and each of them is corrected again when it is opened again, until the clock reaches the latest time in its tables. On a full
 * disk that is at each request.
 */
export class CorrectionLog {
	readonly #clock = new SetBackClock();
	/** The latest time of an account that the log tells of. */
	#until = Number.NEGATIVE_INFINITY;

	note({ clock, corrected }: Instant): void {
		if (corrected === undefined) return;
		const latest = clock + corrected;
		const isNew = latest - this.#until > MAX_LEAD_MS;
		this.#until = Math.max(this.#until, latest);
		if (!this.#clock.notices(clock) && !isNew) return;
		const message = "The clock ran ahead before: accounts return to the present time";
		console.error(JSON.stringify({ message, ahead_seconds: Math.round(corrected / 1000) }));
	}
}

/** Of the process. */
export const correctionLog = new CorrectionLog();
