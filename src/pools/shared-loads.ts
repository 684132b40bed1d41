/**
 * The queued tokens of a pool's replicas over all isolates. Each isolate shares its own, and gets the sum of the others, which it
 * uses until the next exchange: no request waits for it. Pure.
 */

/** Queued tokens by address. Replicas without any are absent. */
export type Loads = { url: string; tokens: number }[];

export interface OtherLoads {
	/** Sums of all other isolates. */
	others: Loads;
	/** Isolates that have shared their loads lately, including this one. */
	isolates: number;
}

/** What an isolate has shared is used this long: an isolate that ends returns nothing. */
export const SHARED_MS = 5_000;
const MAX_ISOLATES = 5_000;

export class SharedLoads {
	/** In the order of their latest exchange. */
	readonly #isolates = new Map<string, { loads: Loads; at: number }>();
	readonly #sums = new Map<string, number>();

	/** Replaces the loads of an isolate. Takes time in proportion to the replicas, not to the isolates. */
	exchange(isolate: string, loads: Loads, now: number): OtherLoads {
		this.#drop(isolate);
		for (const [name, { at }] of this.#isolates) {
			if (at + SHARED_MS > now && this.#isolates.size < MAX_ISOLATES) break;
			this.#drop(name);
		}
		const others = [...this.#sums].map(([url, tokens]) => ({ url, tokens }));
		this.#isolates.set(isolate, { loads, at: now });
		for (const { url, tokens } of loads) this.#sums.set(url, (this.#sums.get(url) ?? 0) + tokens);
		return { others, isolates: this.#isolates.size };
	}

	#drop(isolate: string): void {
		for (const { url, tokens } of this.#isolates.get(isolate)?.loads ?? []) {
			const remaining = (this.#sums.get(url) ?? 0) - tokens;
			if (remaining > 0) this.#sums.set(url, remaining);
			else this.#sums.delete(url);
		}
		this.#isolates.delete(isolate);
	}
}
