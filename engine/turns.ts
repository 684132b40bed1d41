/** Divides the work of many requests among rounds of the event loop, so that a request for another model does not wait for all of them. */

/** Pieces of work in one round. One takes about 0.1 ms. */
const TURNS_A_ROUND = 8;

export class Turns {
	readonly #waiting: (() => void)[] = [];
	#left = TURNS_A_ROUND;
	#isRenewing = false;

	/** Resolves in this round or in a later one, in the order of the calls. */
	next(): Promise<void> {
		if (this.#left === 0) return new Promise((resolve) => this.#waiting.push(resolve));
		this.#take();
		return Promise.resolve();
	}

	#take(): void {
		this.#left -= 1;
		if (this.#isRenewing) return;
		this.#isRenewing = true;
		setImmediate(() => this.#renew());
	}

	#renew(): void {
		this.#isRenewing = false;
		this.#left = TURNS_A_ROUND;
		for (const resume of this.#waiting.splice(0, TURNS_A_ROUND)) {
			this.#take();
			resume();
		}
	}
}
