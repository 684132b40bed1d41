/** Work that waits for a place. Accounts take turns, so that the work of one does not delay that of all others. */
import { SharedCount } from "../../src/core/shared-count.ts";

type Begin = () => void;

export class Turns {
	/** By account. The account whose turn is next is first. */
	readonly #waiting = new Map<string, Set<Begin>>();
	readonly #count: SharedCount;

	/** `max`: work that may wait. An account has as much of it as it leaves to the others. */
	constructor(max: number) {
		this.#count = new SharedCount({ name: "", title: "places", max });
	}

	/** Resolves when it is the turn of the work. Rejects with the signal's reason, or with `full()` if too much work waits. */
	async wait(account: string, signal: AbortSignal, full: () => Error): Promise<void> {
		if (!this.#count.tryTake(account)) throw full();
		const { promise, resolve, reject } = Promise.withResolvers<void>();
		const leave = (): void => reject(signal.reason);
		signal.addEventListener("abort", leave);
		const begins = this.#waiting.get(account) ?? new Set();
		this.#waiting.set(account, begins.add(resolve));
		try {
			await promise;
		} finally {
			signal.removeEventListener("abort", leave);
			this.#count.release(account);
			if (begins.delete(resolve) && begins.size === 0) this.#waiting.delete(account);
		}
	}

	/** A place is free. */
	next(): void {
		const [first] = this.#waiting;
		if (!first) return;
		const [account, begins] = first;
		const [begin] = begins;
		this.#waiting.delete(account);
		if (begin) begins.delete(begin);
		if (begins.size > 0) this.#waiting.set(account, begins);
		begin?.();
	}
}
