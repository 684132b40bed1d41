/** The vectors of an index that one object has. */
import type { NumberedProperty, SelectedCondition } from "../properties.ts";
import type {
	ReturnedMetadata,
	StoredVector,
	VectorBatch,
	VectorMatch,
	VectorMetric,
	VectorRecord,
} from "../records.ts";
import { BlockTable, type ChangedBlock } from "./block-table.ts";
import type { IndexSetup } from "./index-state.ts";
import { PropertyTable } from "./property-table.ts";
import { Scanner, type ScoredId } from "./scan.ts";
import { Selection } from "./selection.ts";

/** Written by mutations. A row dies when its vector is deleted, or with the index. */
const VECTORS = `CREATE TABLE IF NOT EXISTS vectors (
	slot INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	namespace TEXT,
	metadata TEXT
)`;
const BY_NAMESPACE =
	"CREATE INDEX IF NOT EXISTS vectors_by_namespace ON vectors (namespace) WHERE namespace IS NOT NULL";

/** A scan lets other requests run for a millisecond after about so much time: chunks of streams need several turns. */
const SLICE_US = 700;
/** About 65,000 values each. */
const CODED_BLOCK_US = 15;
const BLOCK_US = 90;
/** Reading a block from the disk, and its codes. */
const LOADED_BLOCK_US = 400;
/** One vector, whose values are in memory or on the disk. */
const SCORED_US = 5;
const LOADED_US = 100;

interface VectorRow extends Record<string, SqlStorageValue> {
	slot: number;
	id: string;
	namespace: string | null;
	metadata: string | null;
}

export interface ShardQuery {
	metric: VectorMetric;
	vector: Float32Array<ArrayBuffer>;
	topK: number;
	namespace?: string | undefined;
	conditions: readonly SelectedCondition[];
	returnValues: boolean;
	returnMetadata: ReturnedMetadata;
}

/** What the first object of an index calls of its further ones. */
export interface ShardCalls {
	putVectors(setup: IndexSetup, properties: readonly NumberedProperty[], batch: VectorBatch): Promise<void>;
	removeVectors(ids: readonly string[]): Promise<void>;
	queryVectors(query: ShardQuery): Promise<VectorMatch[]>;
	vectors(ids: readonly string[]): Promise<StoredVector[]>;
	/** On the disk. */
	storedBytes(): Promise<number>;
	drop(): Promise<void>;
}

interface ShardOptions {
	account: string;
	/** The id of the object. */
	owner: string;
	dimensions: number;
	/** Epoch milliseconds. */
	now(): number;
	/** Lets other requests run. */
	pause(): Promise<void>;
}

export class Shard {
	readonly properties: PropertyTable;
	readonly #sql: SqlStorage;
	readonly #blocks: BlockTable;
	readonly #dimensions: number;
	readonly #pause: () => Promise<void>;
	/** Slots without a vector. */
	#free: number[];
	/** Slots with or without a vector. */
	#size: number;

	constructor(sql: SqlStorage, { account, owner, dimensions, now, pause }: ShardOptions) {
		this.#sql = sql;
		this.#dimensions = dimensions;
		this.#pause = pause;
		sql.exec(`${VECTORS}; ${BY_NAMESPACE}`);
		this.properties = new PropertyTable(sql);
		this.#blocks = new BlockTable(sql, {
			...{ account, owner, dimensions, now },
			idsOf: (first, last) =>
				sql
					.exec<{ slot: number; id: string }>(
						"SELECT slot, id FROM vectors WHERE slot BETWEEN ? AND ?",
						first,
						last,
					)
					.raw<[number, string]>(),
		});
		const { size, used } = this.#readSlots();
		this.#size = size;
		this.#free = [];
		for (let slot = size - 1; slot >= 0; slot--) if (used[slot] !== 1) this.#free.push(slot);
	}

	get count(): number {
		return this.#size - this.#free.length;
	}

	#readSlots(): { size: number; used: Uint8Array } {
		const { last } = this.#sql.exec<{ last: number | null }>("SELECT max(slot) AS last FROM vectors").one();
		const size = last === null ? 0 : last + 1;
		const used = new Uint8Array(size);
		for (const [slot] of this.#sql.exec("SELECT slot FROM vectors").raw<[number]>()) used[slot] = 1;
		return { size, used };
	}

	/** Writes vectors. One with a known id is replaced. The ids of a batch differ. */
	put({ records, values }: VectorBatch, properties: readonly NumberedProperty[]): void {
		this.properties.replace(properties);
		const changed = new Map<number, ChangedBlock>();
		const known = this.#slotsOf(records.map(({ id }) => id));
		for (const [index, record] of records.entries()) {
			const slot = known.get(record.id) ?? this.#takeSlot();
			this.#writeRow(slot, record, known.has(record.id));
			const number = this.#blocks.numberOf(slot);
			const block = changed.get(number) ?? this.#blocks.open(number);
			changed.set(number, block);
			const start = index * this.#dimensions;
			this.#blocks.put(block, slot, record.id, values.subarray(start, start + this.#dimensions));
		}
		for (const block of changed.values()) this.#blocks.write(block);
	}

	#takeSlot(): number {
		return this.#free.pop() ?? this.#size++;
	}

	#writeRow(slot: number, { id, namespace, metadata }: VectorRecord, isKnown: boolean): void {
		if (isKnown) this.properties.delete(slot);
		this.#sql.exec(
			"INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)",
			slot,
			id,
			namespace ?? null,
			metadata ?? null,
		);
		this.properties.insert(slot, metadata);
	}

	remove(ids: readonly string[]): void {
		for (const slot of this.#slotsOf(ids).values()) {
			this.#sql.exec("DELETE FROM vectors WHERE slot = ?", slot);
			this.properties.delete(slot);
			this.#blocks.free(slot);
			this.#free.push(slot);
		}
	}

	async query(query: ShardQuery): Promise<VectorMatch[]> {
		const { metric, topK, vector } = query;
		const selected = await this.#select(query);
		const scanner = new Scanner(metric, vector, topK);
		// The turn that has read the request and has verified its caller is longer than a slice: it scans one block only.
		let time = SLICE_US - 1;
		/** Whether others wait by now. An `await` of each block would cost more than the block's bounds. */
		const isLate = (us: number) => {
			time = time < SLICE_US ? time + us : us;
			return time >= SLICE_US;
		};
		const blocks = this.#blocks;
		for (let first = 0; first < this.#size; first += blocks.slotsPerBlock) {
			if (selected && !selected.subarray(first, first + blocks.slotsPerBlock).includes(1)) continue;
			const number = blocks.numberOf(first);
			const hasCodes = blocks.hasCodes(number);
			scanner.scan(blocks.read(number), selected);
			if (isLate(hasCodes ? CODED_BLOCK_US : BLOCK_US + LOADED_BLOCK_US)) await this.#pause();
		}
		for (const candidate of scanner.candidates()) {
			const { id, slot } = candidate;
			// The vector may have been deleted or moved meanwhile.
			if (blocks.idAt(slot) !== id) continue;
			const hasValues = blocks.hasValues(slot);
			scanner.score(candidate, blocks.values(slot));
			if (isLate(hasValues ? SCORED_US : LOADED_US)) await this.#pause();
		}
		return scanner.matches.flatMap((match) => this.#match(match, query));
	}

	/** `undefined`: all slots. */
	async #select({ conditions, namespace }: ShardQuery): Promise<Uint8Array | undefined> {
		if (namespace === undefined && conditions.length === 0) return undefined;
		const selection = new Selection(this.#sql, this.#size);
		if (namespace !== undefined) selection.namespace(namespace);
		for (const condition of conditions) {
			selection.condition(condition);
			await this.#pause();
		}
		return selection.slots;
	}

	/** None if the vector was deleted or moved during the scan. */
	#match({ id, score }: ScoredId, query: ShardQuery): VectorMatch[] {
		const { returnMetadata, returnValues } = query;
		const row = this.#row(id);
		if (!row || (query.namespace ?? row.namespace) !== row.namespace) return [];
		const { slot, namespace } = row;
		const metadata = {
			none: () => undefined,
			all: () => row.metadata ?? undefined,
			indexed: () => this.properties.indexedMetadata(slot),
		}[returnMetadata]();
		return [
			{
				...{ id, score },
				...(namespace !== null && { namespace }),
				...(metadata !== undefined && { metadata }),
				...(returnValues && { values: this.#blocks.values(slot) }),
			},
		];
	}

	get(ids: readonly string[]): StoredVector[] {
		return ids.flatMap((id): StoredVector[] => {
			const row = this.#row(id);
			if (!row) return [];
			const { metadata, namespace, slot } = row;
			return [
				{
					...{ id, values: this.#blocks.values(slot) },
					...(namespace !== null && { namespace }),
					...(metadata !== null && { metadata }),
				},
			];
		});
	}

	#row(id: string): VectorRow | undefined {
		return this.#sql.exec<VectorRow>("SELECT * FROM vectors WHERE id = ?", id).toArray()[0];
	}

	#slotsOf(ids: readonly string[]): Map<string, number> {
		const rows = this.#sql
			.exec<{ id: string; slot: number }>(
				"SELECT id, slot FROM vectors WHERE id IN (SELECT value FROM json_each(?))",
				JSON.stringify(ids),
			)
			.toArray();
		return new Map(rows.map(({ id, slot }) => [id, slot]));
	}

	/** Frees the memory. The shard must not be used any more. */
	close(): void {
		this.#blocks.clear();
	}
}
