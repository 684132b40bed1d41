/** How many accounts have an open object: each holds files of the process until it has been idle for 10 seconds. */

/** Longer than the runtime keeps an idle object. */
const OPEN_MS = 12_000;

export class OpenObjects {
	readonly #max: number;
	readonly #now: () => number;
	/** When each account was last called. The least recent is first. */
	readonly #calledAt = new Map<string, number>();

	constructor({ max, now }: { max: number; now(): number }) {
		this.#max = max;
		this.#now = now;
	}

	/** Before a call. False: the account's object is not open, and no further one may be opened now. */
	mayCall(account: string): boolean {
		if (this.#max === Number.POSITIVE_INFINITY) return true;
		const now = this.#now();
		for (const [other, calledAt] of this.#calledAt) {
			if (calledAt > now - OPEN_MS) break;
			this.#calledAt.delete(other);
		}
		if (!this.#calledAt.has(account) && this.#calledAt.size >= this.#max) return false;
		this.note(account);
		return true;
	}

	/** A call that must be made in any case. */
	note(account: string): void {
		if (this.#max === Number.POSITIVE_INFINITY) return;
		this.#calledAt.delete(account);
		this.#calledAt.set(account, this.#now());
	}
}
