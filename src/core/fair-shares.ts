/**
 * Places that several holders share, such as accounts or addresses.
 *
 * Some places are for holders that have none. The others are guaranteed in equal parts to the holders that have some, and lent to a
 * holder beyond its part while no other one could need them. So a single holder may use nearly all places, and one that takes as many
 * as it can leaves the others their parts.
 */
export class FairShares {
	readonly max: number;
	/** Places that are not reserved for new holders. */
	readonly #lent: number;
	readonly #counts = new Map<string, number>();
	#size = 0;
	/** Places that holders below their part could still take. `undefined`: not known since the last change. */
	#unused: number | undefined;

	/** `max` infinite: nothing is refused. `free`: places that are reserved for new holders. */
	constructor(max: number, free: number) {
		this.max = max;
		this.#lent = Math.max(1, max - free);
	}

	get size(): number {
		return this.#size;
	}

	get isFull(): boolean {
		return this.#size >= this.max;
	}

	/** Places of the holder. */
	count(holder: string): number {
		return this.#counts.get(holder) ?? 0;
	}

	mayTake(holder: string): boolean {
		if (this.max === Number.POSITIVE_INFINITY) return true;
		if (this.isFull) return false;
		if (this.isBelowPart(holder)) return true;
		this.#unused ??= this.#countUnused();
		return this.#size + this.#unused < this.#lent;
	}

	/** Whether the holder has no place, or fewer than its equal part. */
	isBelowPart(holder: string): boolean {
		const own = this.count(holder);
		return own === 0 || own < this.#part;
	}

	take(holder: string): void {
		this.#size++;
		this.#unused = undefined;
		this.#counts.set(holder, (this.#counts.get(holder) ?? 0) + 1);
	}

	release(holder: string): void {
		this.#size--;
		this.#unused = undefined;
		const others = (this.#counts.get(holder) ?? 0) - 1;
		if (others > 0) this.#counts.set(holder, others);
		else this.#counts.delete(holder);
	}

	get #part(): number {
		return Math.floor(this.#lent / this.#counts.size);
	}

	#countUnused(): number {
		const part = this.#part;
		let unused = 0;
		for (const count of this.#counts.values()) unused += Math.max(0, part - count);
		return unused;
	}
}
