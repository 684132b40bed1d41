/** How much of something may pass at once and in a second, such as bytes or frames. What has passed is counted afterwards, whatever its size. */

interface AllowanceOptions {
	/** At once. */
	burst: number;
	perSecond: number;
}

export class Allowance {
	readonly #options: AllowanceOptions;
	/** Negative: more has passed than may. */
	#left: number;
	#at: number | undefined;

	constructor(options: AllowanceOptions) {
		this.#options = options;
		this.#left = options.burst;
	}

	/** Milliseconds until the next one may pass. `now`: milliseconds. */
	delayMs(now: number): number {
		const { burst, perSecond } = this.#options;
		const elapsedMs = Math.max(0, now - (this.#at ?? now));
		this.#at = now;
		this.#left = Math.min(burst, this.#left + (elapsedMs * perSecond) / 1_000);
		return Math.max(0, (-this.#left * 1_000) / perSecond);
	}

	/** It has passed. */
	count(amount: number): void {
		this.#left -= amount;
	}
}
