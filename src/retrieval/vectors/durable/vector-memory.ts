/**
 * What this process has of vectors in memory, of all indexes: the codes of blocks, which each query reads, and the values of blocks, of which a
 * query reads few. Beyond the limit values go first, those that were used the longest time ago, and then codes. A query of an index that does
 * not fit reads the others from the disk.
 */
import { vectorBytes } from "../../../core/process-counts.ts";
import { CODE_BYTES, idleCodeBytes } from "./codes.ts";

export interface MemoryBlock {
	account: string;
	/** The object with the block. */
	owner: string;
	kind: "codes" | "values";
	bytes: number;
	/** It is not in memory any more. */
	drop(): void;
}

/** The block that was used last is last. */
const kept = { codes: new Set<MemoryBlock>(), values: new Set<MemoryBlock>() };

/** The block was used. Returns whether it may stay in memory. */
export function keepInMemory(block: MemoryBlock): boolean {
	const blocks = kept[block.kind];
	if (blocks.delete(block)) {
		blocks.add(block);
		return true;
	}
	if (!makeRoom(block)) return false;
	vectorBytes.add(block.account, block.bytes);
	blocks.add(block);
	return true;
}

function makeRoom({ bytes, kind }: MemoryBlock): boolean {
	const { limit } = vectorBytes.report();
	if (bytes > limit) return false;
	const fits = () => {
		const idle = Math.max(0, idleCodeBytes() - (kind === "codes" ? CODE_BYTES : 0));
		return vectorBytes.report().used + idle + bytes <= limit;
	};
	for (const blocks of kind === "codes" ? [kept.values, kept.codes] : [kept.values])
		for (const oldest of blocks) {
			if (fits()) return true;
			forget(oldest);
		}
	return fits();
}

/** The block is not in memory any more. */
export function forget(block: MemoryBlock): void {
	if (!kept[block.kind].delete(block)) return;
	vectorBytes.release(block.account, block.bytes);
	block.drop();
}

/** Another instance of the object, which has ended, may have left blocks. */
export function forgetOwner(owner: string): void {
	for (const block of [...kept.codes, ...kept.values]) if (block.owner === owner) forget(block);
}
