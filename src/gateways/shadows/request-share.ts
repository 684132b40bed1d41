/** Chooses a share of requests at random, and exactly that share of each {@link BLOCK}. */

const BLOCK = 1_000;

export class RequestShare {
	readonly share: number;
	readonly #random: () => number;
	#blocks = 0;
	/** Of the block. */
	#left = 0;
	#due = 0;

	/** `share`: 0 to 1. A share with more than three digits is exact over several blocks. `random`: 0 to 1. */
	constructor(share: number, random: () => number) {
		this.share = share;
		this.#random = random;
	}

	/** Whether the next request is one of the share. */
	next(): boolean {
		if (this.#left === 0) {
			this.#left = BLOCK;
			this.#due = this.#until(this.#blocks + 1) - this.#until(this.#blocks);
			this.#blocks++;
		}
		// Selection sampling (Knuth, The Art of Computer Programming 3.4.2, algorithm S).
		const isChosen = this.#random() * this.#left < this.#due;
		this.#left--;
		if (isChosen) this.#due--;
		return isChosen;
	}

	/** The requests that are chosen in the first blocks. */
	#until(blocks: number): number {
		return Math.round(blocks * BLOCK * this.share);
	}
}
