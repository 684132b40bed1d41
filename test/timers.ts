/** Waits that end only when the test fires their timers. The test has the clock. */
import type { StartTimer } from "../src/core/lazy-timer.ts";

interface TestTimer {
	readonly at: number;
	/** Ends its wait. */
	fire(): void;
}

export class TestTimers {
	readonly #now: () => number;
	readonly #timers = new Set<TestTimer>();

	constructor(now: () => number) {
		this.#now = now;
	}

	/** Rejects if the signal fires first. */
	readonly wait = (milliseconds: number, signal?: AbortSignal): Promise<void> => {
		const { promise, resolve, reject } = Promise.withResolvers<void>();
		const end = (settle: () => void) => () => {
			if (this.#timers.delete(timer)) settle();
		};
		const timer = { at: this.#now() + milliseconds, fire: end(resolve) };
		this.#timers.add(timer);
		signal?.addEventListener(
			"abort",
			end(() => reject(signal.reason)),
		);
		return promise;
	};

	/** The times at which those end that wait. */
	get times(): number[] {
		return [...this.#timers].map(({ at }) => at);
	}

	/** The first that ends until this time. */
	dueBy(time: number): TestTimer | undefined {
		const [first] = [...this.#timers].filter(({ at }) => at <= time).sort((a, b) => a.at - b.at);
		return first;
	}

	/** As if the contexts of those that wait ended: their waits never end. */
	clear(): void {
		this.#timers.clear();
	}
}

/** Its limits pass at once, before the other side can answer. */
export const startPassedTimer: StartTimer = (_, onTime) => {
	const timer = setTimeout(onTime);
	return { cancel: () => clearTimeout(timer) };
};
