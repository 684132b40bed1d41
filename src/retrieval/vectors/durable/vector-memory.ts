/**
 * What this process has of vectors in memory, of all indexes: the codes of blocks, which each query reads, and the values of blocks, of which a
 * query reads few. Beyond the limit values go first, those that were used the longest time ago, and then codes. A query of an index that does
 * not fit reads the others from the disk.
 *
 * Values that are in use do not make room for other values. Otherwise each query of an index that almost fits would replace some blocks, and
 * memory that is replaced often makes the garbage collector stop all requests for tens of milliseconds.
 */
import { hasPassed } from "../../../core/elapsed.ts";
import { vectorBytes } from "../../../core/process-counts.ts";
import { CODE_BYTES, idleCodeBytes } from "./codes.ts";

export interface MemoryBlock {
	account: string;
	/** The object with the block. */
	owner: string;
	kind: "codes" | "values";
	bytes: number;
	/** Epoch milliseconds. */
	usedAt?: number;
	/** It is not in memory any more. */
	drop(): void;
}

/** Values that were used within this time make no room for other values. */
const IN_USE_MS = 10_000;

/** The block that was used last is last. */
const kept = { codes: new Set<MemoryBlock>(), values: new Set<MemoryBlock>() };

/** The block was used now. Returns whether it may stay in memory. */
export function keepInMemory(block: MemoryBlock, now: number): boolean {
	block.usedAt = now;
	const blocks = kept[block.kind];
	if (blocks.delete(block)) {
		blocks.add(block);
		return true;
	}
	if (!makeRoom(block, now)) return false;
	vectorBytes.add(block.account, block.bytes);
	blocks.add(block);
	return true;
}

/** Whether {@link keepInMemory} would keep values. */
export function hasRoomForValues(bytes: number, now: number): boolean {
	if (fits({ bytes, kind: "values" })) return true;
	const [oldest] = kept.values;
	return oldest !== undefined && !isInUse(oldest, now);
}

const isInUse = ({ usedAt = 0 }: MemoryBlock, now: number): boolean => !hasPassed(IN_USE_MS, usedAt, now);

function fits({ bytes, kind }: Pick<MemoryBlock, "bytes" | "kind">): boolean {
	const { limit, used } = vectorBytes.report();
	const idle = Math.max(0, idleCodeBytes() - (kind === "codes" ? CODE_BYTES : 0));
	return used + idle + bytes <= limit;
}

function makeRoom(block: MemoryBlock, now: number): boolean {
	const { bytes, kind } = block;
	if (bytes > vectorBytes.report().limit) return false;
	for (const blocks of kind === "codes" ? [kept.values, kept.codes] : [kept.values])
		for (const oldest of blocks) {
			if (fits(block)) return true;
			if (kind === "values" && isInUse(oldest, now)) return false;
			forget(oldest);
		}
	return fits(block);
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
