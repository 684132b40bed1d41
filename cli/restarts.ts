/** How often a process that ends by itself is started again. One that ends more often would end again. */
const MAX_RESTARTS = 5;
const WITHIN_MS = 60_000;

export class Restarts {
	readonly #now: () => number;
	#latest: number[] = [];

	/** `now`: milliseconds of a clock that is never set. */
	constructor(now = () => performance.now()) {
		this.#now = now;
	}

	/** Whether the process may be started again, which counts. */
	begin(): boolean {
		const at = this.#now();
		this.#latest = this.#latest.filter((before) => at - before < WITHIN_MS);
		if (this.#latest.length === MAX_RESTARTS) return false;
		this.#latest.push(at);
		return true;
	}
}
