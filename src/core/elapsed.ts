/** Waits that end by a clock, although that may be set back: by its time service, or when a machine wakes. */

/** The clock of a request stands still while a timer of the request is late. If a time is further ahead, the clock was set back. */
const MAX_SKEW_MS = 1_000;

const wasSetBack = (before: number, now: number): boolean => now < before - MAX_SKEW_MS;

/**
 * Whether the time since `since` has passed, or the clock was set back: nobody knows then how much of it has passed. Without `since`, nothing
 * has begun that could still last.
 */
export const hasPassed = (milliseconds: number, since: number | undefined, now: number): boolean =>
	since === undefined || now >= since + milliseconds || wasSetBack(since, now);

/** For an owner of many times, which forgets them all. */
export class SetBackClock {
	#latest = Number.NEGATIVE_INFINITY;

	/** Whether the clock was set back since the call before. */
	notices(now: number): boolean {
		const isSetBack = wasSetBack(this.#latest, now);
		this.#latest = isSetBack ? now : Math.max(now, this.#latest);
		return isSetBack;
	}
}
