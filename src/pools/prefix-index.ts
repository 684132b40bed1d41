/**
 * Which replicas have which blocks of prompts in their cache, as far as this isolate knows: the blocks of the requests that
 * it sent to them. Each replica has an LRU list, like the cache of its engine.
 *
 * A block is identified by the hash of itself and all blocks before it (`block-hashes.ts`). A replica that has a block
 * has all blocks before it too, because using a block also uses those before it, and the last block of a prompt is the
 * first to be dropped. Therefore a match is found by binary search.
 */

/** The blocks of a prompt, from the first to the last. */
export type Blocks = readonly number[];

export interface Holder<Replica> {
	replica: Replica;
	/** Number of blocks from the beginning of the prompt. */
	blocks: number;
}

interface Cache {
	/** In the order of their last use. */
	blocks: Set<number>;
	capacity: number;
}

/** Pairs of a block and a replica. One takes about 150 bytes. */
const MAX_PAIRS = 200_000;

export class PrefixIndex<Replica extends object> {
	/** Most blocks have one holder, and a set for each would take twice the memory. */
	readonly #holders = new Map<number, Replica | Set<Replica>>();
	readonly #caches = new Map<Replica, Cache>();
	readonly #maxPairs: number;
	#pairs = 0;

	constructor({ maxPairs = MAX_PAIRS }: { maxPairs?: number } = {}) {
		this.#maxPairs = maxPairs;
	}

	/** Number of pairs of a block and a replica. */
	get size(): number {
		return this.#pairs;
	}

	/** Adds a replica, or changes the number of blocks that its cache has. */
	setCapacity(replica: Replica, blocks: number): void {
		const cache = this.#caches.get(replica);
		if (cache) {
			cache.capacity = blocks;
			this.#shrink(replica, cache);
		} else this.#caches.set(replica, { blocks: new Set(), capacity: blocks });
	}

	delete(replica: Replica): void {
		const cache = this.#caches.get(replica);
		if (cache) for (const block of cache.blocks) this.#drop(block, replica, cache);
		this.#caches.delete(replica);
	}

	/** The replica processes a prompt of these blocks. */
	add(replica: Replica, blocks: Blocks): void {
		const cache = this.#caches.get(replica);
		if (!cache) return;
		for (const block of blocks.toReversed()) {
			if (!cache.blocks.delete(block)) this.#hold(block, replica);
			cache.blocks.add(block);
		}
		this.#shrink(replica, cache);
	}

	/** Number of blocks from the beginning that the replica has. */
	match(replica: Replica, blocks: Blocks): number {
		const cached = this.#caches.get(replica)?.blocks;
		return cached ? countFrom(blocks, blocks.length, (block) => cached.has(block)) : 0;
	}

	/**
	 * The replicas with the longest matches, the longest first. If more than `limit` have the last of these matches, any of
	 * them are returned.
	 */
	longest(blocks: Blocks, limit: number): Holder<Replica>[] {
		const found: Holder<Replica>[] = [];
		let { length } = blocks;
		while (found.length < limit) {
			length = countFrom(blocks, length, (block) => this.#holderCount(block) > found.length);
			const block = blocks[length - 1];
			if (block === undefined) return found;
			const holders = this.#holders.get(block);
			for (const replica of holders instanceof Set ? holders : holders ? [holders] : []) {
				if (found.length >= limit) return found;
				if (!found.some((holder) => holder.replica === replica)) found.push({ replica, blocks: length });
			}
		}
		return found;
	}

	#holderCount(block: number): number {
		const holders = this.#holders.get(block);
		if (!holders) return 0;
		return holders instanceof Set ? holders.size : 1;
	}

	#hold(block: number, replica: Replica): void {
		this.#pairs++;
		const holders = this.#holders.get(block);
		if (!holders) this.#holders.set(block, replica);
		else if (holders instanceof Set) holders.add(replica);
		else this.#holders.set(block, new Set([holders, replica]));
	}

	#drop(block: number, replica: Replica, cache: Cache): void {
		if (!cache.blocks.delete(block)) return;
		this.#pairs--;
		const holders = this.#holders.get(block);
		if (!(holders instanceof Set)) this.#holders.delete(block);
		else {
			holders.delete(replica);
			const [last] = holders;
			if (holders.size === 1 && last) this.#holders.set(block, last);
		}
	}

	/** The bound of the index is shared equally by its replicas. */
	#shrink(replica: Replica, cache: Cache): void {
		const capacity = Math.min(cache.capacity, Math.floor(this.#maxPairs / this.#caches.size));
		for (const block of cache.blocks) {
			if (cache.blocks.size <= capacity) break;
			this.#drop(block, replica, cache);
		}
	}
}

/** Number of the first `length` blocks that fulfil a condition, which those after the first failure do not fulfil. */
function countFrom(blocks: Blocks, length: number, condition: (block: number) => boolean): number {
	let from = 0;
	let to = length;
	while (from < to) {
		const middle = (from + to + 1) >> 1;
		const block = blocks[middle - 1];
		if (block !== undefined && condition(block)) from = middle;
		else to = middle - 1;
	}
	return from;
}
