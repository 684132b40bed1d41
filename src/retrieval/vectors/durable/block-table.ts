/** The values of vectors, in blocks of consecutive slots. */
import { lengthOf } from "./products.ts";
import { forget, forgetOwner, keepInMemory, type MemoryBlock } from "./vector-memory.ts";

/** Written with each mutation. `content`: float32 values, little-endian, up to the last used slot. A row dies with the index. */
const BLOCKS = `CREATE TABLE IF NOT EXISTS blocks (
	block INTEGER PRIMARY KEY,
	content BLOB NOT NULL
)`;

/** A mutation of one vector writes its block; a scan reads all blocks. */
const BLOCK_BYTES = 256 * 1024;
const MAX_SLOTS = 1_024;
const FLOAT_BYTES = 4;
/** Of the id, the length and the objects of a vector in memory. */
const SLOT_BYTES = 128;

/** Consecutive slots. The values of a slot that has no id mean nothing. */
export interface VectorBlock extends MemoryBlock {
	firstSlot: number;
	/** The id of each slot; `undefined`: the slot is free. */
	ids: (string | undefined)[];
	/** The Euclidean length of each vector. */
	lengths: Float64Array;
	values: Float32Array<ArrayBuffer>;
}

interface BlockTableOptions {
	account: string;
	/** The object with this table. */
	owner: string;
	dimensions: number;
	/** The ids of the used slots from `first` to `last`. */
	idsOf(first: number, last: number): Iterable<readonly [slot: number, id: string]>;
}

export class BlockTable {
	readonly slotsPerBlock: number;
	readonly #sql: SqlStorage;
	readonly #options: BlockTableOptions;
	readonly #kept = new Map<number, VectorBlock>();

	constructor(sql: SqlStorage, options: BlockTableOptions) {
		this.#sql = sql;
		this.#options = options;
		const { dimensions, owner } = options;
		this.slotsPerBlock = Math.max(
			1,
			Math.min(MAX_SLOTS, Math.floor(BLOCK_BYTES / (FLOAT_BYTES * dimensions))),
		);
		sql.exec(BLOCKS);
		forgetOwner(owner);
	}

	/** The block of a slot. */
	numberOf(slot: number): number {
		return Math.floor(slot / this.slotsPerBlock);
	}

	/** A block from memory or the disk. A new one has no ids. */
	read(number: number): VectorBlock {
		const known = this.#kept.get(number);
		if (known) {
			keepInMemory(known);
			return known;
		}
		const block = this.#load(number);
		if (keepInMemory(block)) this.#kept.set(number, block);
		return block;
	}

	#load(number: number): VectorBlock {
		const { account, dimensions, idsOf, owner } = this.#options;
		const slots = this.slotsPerBlock;
		const firstSlot = number * slots;
		const values = new Float32Array(slots * dimensions);
		const lengths = new Float64Array(slots);
		const ids: (string | undefined)[] = [];
		const [row] = this.#sql
			.exec<{ content: ArrayBuffer }>("SELECT content FROM blocks WHERE block = ?", number)
			.toArray();
		if (row) {
			values.set(new Float32Array(row.content));
			for (const [slot, id] of idsOf(firstSlot, firstSlot + slots - 1)) {
				const offset = slot - firstSlot;
				ids[offset] = id;
				lengths[offset] = lengthOf(values, offset * dimensions, dimensions);
			}
		}
		const bytes = values.byteLength + slots * SLOT_BYTES;
		return { account, owner, bytes, firstSlot, ids, lengths, values, evict: () => this.#kept.delete(number) };
	}

	/** Puts a vector into the memory of its block, which {@link write} then writes. */
	put(block: VectorBlock, slot: number, id: string, values: Float32Array): void {
		const { dimensions } = this.#options;
		const offset = slot - block.firstSlot;
		block.values.set(values, offset * dimensions);
		block.lengths[offset] = lengthOf(values, 0, dimensions);
		block.ids[offset] = id;
	}

	write(block: VectorBlock): void {
		const { dimensions } = this.#options;
		const content = block.values.slice(0, block.ids.length * dimensions);
		const number = this.numberOf(block.firstSlot);
		this.#sql.exec("INSERT OR REPLACE INTO blocks VALUES (?, ?)", number, content.buffer);
	}

	/** The slot is free. The block on the disk stays: without an id its values mean nothing. */
	free(slot: number): void {
		const block = this.#kept.get(this.numberOf(slot));
		if (block) block.ids[slot - block.firstSlot] = undefined;
	}

	values(slot: number): Float32Array<ArrayBuffer> {
		const { dimensions } = this.#options;
		const block = this.read(this.numberOf(slot));
		const offset = (slot - block.firstSlot) * dimensions;
		return block.values.slice(offset, offset + dimensions);
	}

	/** The memory may differ from the disk, or the object ends. */
	clear(): void {
		for (const block of this.#kept.values()) forget(block);
		this.#kept.clear();
	}
}
