/**
 * An isolate's copies of values that a Durable Object stores. A copy is used for a fixed time. Therefore a change takes effect at once in
 * the isolate that deletes its copy, and within that time in the others.
 */
import { BoundedMap } from "./bounded-map.ts";
import { hasPassed } from "./elapsed.ts";

/** At the bound all copies are dropped. */
const MAX_COPIES = 1_000;

interface FreshCacheOptions {
	/** Milliseconds since the epoch. */
	now(): number;
	/** How long a copy is used. */
	freshMs: number;
}

export class FreshCache<T> {
	readonly #options: FreshCacheOptions;
	readonly #copies = new BoundedMap<string, { value: T; at: number }>(MAX_COPIES);
	/** The number of deletions. A value that was loaded during one may be the former value. */
	#deletions = 0;

	constructor(options: FreshCacheOptions) {
		this.#options = options;
	}

	/** The copy, or else the value that `load` returns, which is then kept. Throws what `load` throws. */
	async read(key: string, load: () => Promise<T>): Promise<T> {
		const copy = this.#fresh(key);
		if (copy) return copy.value;
		const deletions = this.#deletions;
		const value = await load();
		if (deletions === this.#deletions) this.set(key, value);
		return value;
	}

	get(key: string): T | undefined {
		return this.#fresh(key)?.value;
	}

	set(key: string, value: T): void {
		this.#copies.set(key, { value, at: this.#options.now() });
	}

	delete(key: string): void {
		this.#deletions++;
		this.#copies.delete(key);
	}

	clear(): void {
		this.#deletions++;
		this.#copies.clear();
	}

	#fresh(key: string): { value: T } | undefined {
		const { freshMs, now } = this.#options;
		const copy = this.#copies.get(key);
		return copy && !hasPassed(freshMs, copy.at, now()) ? copy : undefined;
	}
}
