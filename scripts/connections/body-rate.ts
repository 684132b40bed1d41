/** Whether the body of a request arrives too slowly. */

/** The rate is measured over this time. */
const RATE_MS = 10_000;
const LOWEST_BYTES_PER_SECOND = 1_024;

export class BodyRate {
	#since = 0;
	#bytes = 0;

	begin(at: number): void {
		this.#since = at;
		this.#bytes = 0;
	}

	add(bytes: number): void {
		this.#bytes += bytes;
	}

	/** Measures again from `at` on, if enough time has passed. */
	isSlow(at: number): boolean {
		const elapsedMs = at - this.#since;
		if (elapsedMs < RATE_MS) return false;
		const isSlow = this.#bytes < (LOWEST_BYTES_PER_SECOND * elapsedMs) / 1000;
		this.begin(at);
		return isSlow;
	}
}
