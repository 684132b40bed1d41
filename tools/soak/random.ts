/** Pseudo-random numbers, the same for the same seed: mulberry32 (github.com/cprosche/mulberry32). */
export class Random {
	#state: number;

	constructor(seed: number) {
		this.#state = seed >>> 0;
	}

	/** At least 0, less than 1. */
	next(): number {
		this.#state = (this.#state + 0x6d2b79f5) >>> 0;
		let mixed = this.#state;
		mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	}

	/** An integer, both bounds included. */
	int(low: number, high: number): number {
		return low + Math.floor(this.next() * (high - low + 1));
	}

	chance(probability: number): boolean {
		return this.next() < probability;
	}

	pick<T>(list: readonly [T, ...T[]]): T {
		return list[this.int(0, list.length - 1)] ?? list[0];
	}

	/** A key of `weights`; its probability is its share of the sum. */
	weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
		const entries = Object.entries<number>(weights) as [Name, number][];
		const total = entries.reduce((sum, [, weight]) => sum + weight, 0);
		let remaining = this.next() * total;
		for (const [name, weight] of entries) {
			remaining -= weight;
			if (remaining < 0) return name;
		}
		throw new Error("no weights");
	}
}

/** The numbers of `next`, as a function. */
export function uniformNumbers(seed: number): () => number {
	const random = new Random(seed);
	return () => random.next();
}
