/**
 * The blocks of vectors that this process has in memory, of all indexes. Beyond the limit, the block that was used the longest time ago goes.
 * A query of an index that does not fit reads the other blocks from the disk.
 */
import { vectorBytes } from "../../../core/process-counts.ts";

export interface MemoryBlock {
	account: string;
	/** The object with the block. */
	owner: string;
	bytes: number;
	/** The index must not use this object of the block any more. */
	evict(): void;
}

/** The block that was used last is last. */
const blocks = new Set<MemoryBlock>();

/** The block was used. Returns whether it may stay in memory. */
export function keepInMemory(block: MemoryBlock): boolean {
	if (blocks.delete(block)) {
		blocks.add(block);
		return true;
	}
	const { limit } = vectorBytes.report();
	if (block.bytes > limit) return false;
	for (const oldest of blocks) {
		if (vectorBytes.report().used + block.bytes <= limit) break;
		forget(oldest);
		oldest.evict();
	}
	vectorBytes.add(block.account, block.bytes);
	blocks.add(block);
	return true;
}

/** The block is not in memory any more. */
export function forget(block: MemoryBlock): void {
	if (blocks.delete(block)) vectorBytes.release(block.account, block.bytes);
}

/** Another instance of the object, which has ended, may have left blocks. */
export function forgetOwner(owner: string): void {
	for (const block of blocks) if (block.owner === owner) forget(block);
}
