/** Times one after another, with a gap. */
export class SpacedTimes {
	readonly #gapMs: () => number;
	readonly #maxMs: number;
	#lastAt = Number.NEGATIVE_INFINITY;

	/** `maxMs`: a wait beyond it is not one, because the clock was set back. */
	constructor({ gapMs, maxMs }: { gapMs(): number; maxMs: number }) {
		this.#gapMs = gapMs;
		this.#maxMs = maxMs;
	}

	/** Reserves the next time, at the earliest after `earliestMs`. Returns the milliseconds until then. */
	next(now: number, earliestMs = 0): number {
		const free = this.#lastAt + this.#gapMs() - now;
		const delay = free > this.#maxMs ? earliestMs : Math.max(earliestMs, free);
		this.#lastAt = now + delay;
		return delay;
	}
}
