/** Bounds the number of open `Account` objects: each holds files of the process until it has been idle for 10 seconds. */

/** Longer than the runtime keeps an idle object open. */
const OPEN_MS = 12_000;

export class OpenObjects {
	readonly #max: number;
	readonly #now: () => number;
	/** Time of the last call of each account. The least recent is first. */
	readonly #calledAt = new Map<string, number>();

	constructor({ max, now }: { max: number; now(): number }) {
		this.#max = max;
		this.#now = now;
	}

	/** Records a call, unless it would open one object too many: then returns false. */
	mayCall(account: string): boolean {
		if (this.#max === Number.POSITIVE_INFINITY) return true;
		const now = this.#now();
		for (const [other, calledAt] of this.#calledAt) {
			if (calledAt > now - OPEN_MS) break;
			this.#calledAt.delete(other);
		}
		if (!this.#calledAt.has(account) && this.#calledAt.size >= this.#max) return false;
		this.recordCall(account);
		return true;
	}

	/** Records a call that is made in any case. */
	recordCall(account: string): void {
		if (this.#max === Number.POSITIVE_INFINITY) return;
		this.#calledAt.delete(account);
		this.#calledAt.set(account, this.#now());
	}
}
