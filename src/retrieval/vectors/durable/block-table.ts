/** The values of vectors, in blocks of consecutive slots. In memory a block has codes (codes.ts); its values are there while there is room. */
import { BlockCodes, CODE_BYTES } from "./codes.ts";
import { lengthOf } from "./products.ts";
import { forget, forgetOwner, hasRoomForValues, keepInMemory, type MemoryBlock } from "./vector-memory.ts";

/** Written with each mutation. `content`: float32 values, little-endian, up to the last used slot. A row dies with the index. */
const BLOCKS = `CREATE TABLE IF NOT EXISTS blocks (
	block INTEGER PRIMARY KEY,
	content BLOB NOT NULL
)`;

/** A mutation of one vector writes its block; a scan reads all blocks. */
const BLOCK_BYTES = 256 * 1024;
const MAX_SLOTS = 1_024;
const FLOAT_BYTES = 4;
/** Of the id, the three numbers and the objects of a vector in memory. */
const SLOT_BYTES = 144;

/** Consecutive slots. */
export interface VectorBlock extends MemoryBlock {
	firstSlot: number;
	/** The id of each slot; `undefined`: the slot is free, and what it has means nothing. */
	ids: (string | undefined)[];
	/** The Euclidean length of each vector. */
	lengths: Float64Array;
	/** Absent: the block is not in memory, or there is no memory for its codes. */
	codes?: BlockCodes | undefined;
	/** From memory or the disk. */
	values(): Float32Array<ArrayBuffer>;
}

/** A block whose vectors change. */
export interface ChangedBlock {
	block: VectorBlock;
	values: Float32Array<ArrayBuffer>;
}

interface BlockValues extends MemoryBlock {
	values: Float32Array<ArrayBuffer>;
}

interface BlockTableOptions {
	account: string;
	/** The object with this table. */
	owner: string;
	dimensions: number;
	/** The ids of the used slots from `first` to `last`. */
	idsOf(first: number, last: number): Iterable<readonly [slot: number, id: string]>;
	/** Epoch milliseconds. */
	now(): number;
}

export class BlockTable {
	readonly slotsPerBlock: number;
	readonly #sql: SqlStorage;
	readonly #options: BlockTableOptions;
	readonly #kept = new Map<number, VectorBlock>();
	readonly #keptValues = new Map<number, BlockValues>();

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

	/** Whether {@link read} of a block finds its codes in memory. */
	hasCodes(number: number): boolean {
		return this.#kept.get(number)?.codes !== undefined;
	}

	/** Whether {@link values} of a slot needs no disk. */
	hasValues(slot: number): boolean {
		return this.#keptValues.has(this.numberOf(slot));
	}

	/** A block from memory or the disk. A new one has no ids. */
	read(number: number): VectorBlock {
		const known = this.#kept.get(number);
		const now = this.#options.now();
		if (known) {
			keepInMemory(known, now);
			return known;
		}
		const { block, values } = this.#load(number);
		if (keepInMemory(block, now)) {
			this.#kept.set(number, block);
			this.#encode(block, values);
		} else block.values = () => values;
		return block;
	}

	#load(number: number): ChangedBlock {
		const { account, dimensions, idsOf, owner } = this.#options;
		const slots = this.slotsPerBlock;
		const firstSlot = number * slots;
		const lengths = new Float64Array(slots);
		const ids: (string | undefined)[] = [];
		const values = this.#readValues(number);
		for (const [slot, id] of idsOf(firstSlot, firstSlot + slots - 1)) {
			const offset = slot - firstSlot;
			ids[offset] = id;
			lengths[offset] = lengthOf(values, offset * dimensions, dimensions);
		}
		const block: VectorBlock = {
			...{ account, owner, kind: "codes", bytes: CODE_BYTES + slots * SLOT_BYTES },
			...{ firstSlot, ids, lengths },
			values: () => this.#readValues(number),
			drop: () => {
				this.#kept.delete(number);
				block.codes?.release();
				block.codes = undefined;
			},
		};
		return { block, values };
	}

	#encode(block: VectorBlock, values: Float32Array): void {
		const { dimensions } = this.#options;
		const codes = BlockCodes.take(this.slotsPerBlock, dimensions);
		if (!codes) return;
		block.codes = codes;
		for (const [offset, id] of block.ids.entries())
			if (id !== undefined) codes.encode(offset, values, offset * dimensions);
	}

	#readValues(number: number): Float32Array<ArrayBuffer> {
		const { account, dimensions, now, owner } = this.#options;
		const known = this.#keptValues.get(number);
		if (known) {
			keepInMemory(known, now());
			return known.values;
		}
		const [row] = this.#sql
			.exec<{ content: ArrayBuffer }>("SELECT content FROM blocks WHERE block = ?", number)
			.toArray();
		const stored = new Float32Array(row?.content ?? new ArrayBuffer());
		const size = this.slotsPerBlock * dimensions;
		const values = stored.length === size ? stored : new Float32Array(size);
		if (values !== stored) values.set(stored);
		const kept: BlockValues = {
			...{ account, owner, kind: "values", bytes: values.byteLength, values },
			drop: () => this.#keptValues.delete(number),
		};
		if (keepInMemory(kept, now())) this.#keptValues.set(number, kept);
		return values;
	}

	/** For {@link put} and {@link write}, which follow at once. */
	open(number: number): ChangedBlock {
		const block = this.read(number);
		return { block, values: block.values() };
	}

	/** Puts a vector into the memory of its block, which {@link write} then writes. */
	put({ block, values }: ChangedBlock, slot: number, id: string, vector: Float32Array): void {
		const { dimensions } = this.#options;
		const offset = slot - block.firstSlot;
		values.set(vector, offset * dimensions);
		block.lengths[offset] = lengthOf(vector, 0, dimensions);
		block.codes?.encode(offset, vector, 0);
		block.ids[offset] = id;
	}

	write({ block, values }: ChangedBlock): void {
		const { dimensions } = this.#options;
		const content = values.slice(0, block.ids.length * dimensions);
		const number = this.numberOf(block.firstSlot);
		this.#sql.exec("INSERT OR REPLACE INTO blocks VALUES (?, ?)", number, content.buffer);
	}

	/** The slot is free. The block on the disk stays: without an id its values mean nothing. */
	free(slot: number): void {
		const block = this.#kept.get(this.numberOf(slot));
		if (block) block.ids[slot - block.firstSlot] = undefined;
	}

	/** The id of a slot. `undefined`: the slot is free. */
	idAt(slot: number): string | undefined {
		const block = this.#kept.get(this.numberOf(slot));
		if (block) return block.ids[slot - block.firstSlot];
		const [found] = this.#options.idsOf(slot, slot);
		return found?.[1];
	}

	/** Those of one slot. Without its block, if that would not stay in memory: a query needs few vectors of many blocks. */
	values(slot: number): Float32Array<ArrayBuffer> {
		const { dimensions, now } = this.#options;
		const number = this.numberOf(slot);
		const offset = (slot - number * this.slotsPerBlock) * dimensions;
		const blockBytes = FLOAT_BYTES * this.slotsPerBlock * dimensions;
		if (this.#keptValues.has(number) || hasRoomForValues(blockBytes, now()))
			return this.#readValues(number).slice(offset, offset + dimensions);
		const { content } = this.#sql
			.exec<{ content: ArrayBuffer }>(
				"SELECT substr(content, ?, ?) AS content FROM blocks WHERE block = ?",
				...[FLOAT_BYTES * offset + 1, FLOAT_BYTES * dimensions, number],
			)
			.one();
		return new Float32Array(content);
	}

	/** The memory may differ from the disk, or the object ends. */
	clear(): void {
		for (const block of [...this.#kept.values(), ...this.#keptValues.values()]) forget(block);
	}
}
