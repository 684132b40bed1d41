/**
 * An index of the kind `builtin`, in its first object: the ids, the mutations that are not applied yet, and the first vectors. Vectors beyond
 * what one object can scan are in further objects, which only this one calls.
 *
 * A mutation is durable when `write` returns. It is applied part by part, in the order of the mutations: at once, or after the delay of the
 * index. A kill leaves its remaining parts in the journal, and they are applied later.
 */
import { indexFull, tooManyMetadataIndexes } from "../failures.ts";
import { changedProperties, selectedConditions } from "../properties.ts";
import type {
	MetadataIndex,
	StoredVector,
	VectorIndexInfo,
	VectorListQuery,
	VectorMatch,
	VectorPage,
	VectorQuery,
} from "../records.ts";
import { IdTable } from "./id-table.ts";
import type { IndexSetup, IndexState, StateTable } from "./index-state.ts";
import { type JournalEntry, type MutationPart, VectorJournal } from "./journal.ts";
import { MAX_INDEX_VECTORS, place } from "./place-vectors.ts";
import { byScore } from "./scan.ts";
import type { Shard, ShardCalls, ShardQuery } from "./shard.ts";

interface EngineServices {
	sql: SqlStorage;
	/** All writes of `write`, or none. */
	transaction(write: () => void): void;
	state: StateTable;
	shard: Shard;
	/** A further object. */
	further(setup: IndexSetup, number: number): ShardCalls;
	/** Epoch milliseconds. */
	now(): number;
	/** Waits while the runtime is behind. */
	giveWay(): Promise<void>;
	/** Lets other requests run. */
	pause(): Promise<void>;
}

export class IndexEngine {
	readonly #services: EngineServices;
	readonly #ids: IdTable;
	readonly #journal: VectorJournal;
	/** Mutations are applied one after another. */
	#applying: Promise<void> = Promise.resolve();
	#isDropped = false;

	constructor(services: EngineServices) {
		const { sql } = services;
		this.#services = services;
		this.#ids = new IdTable(sql);
		this.#journal = new VectorJournal(sql);
	}

	get #state(): IndexState {
		const { current } = this.#services.state;
		if (!current) throw new Error("the index has no state");
		return current;
	}

	async write(part: MutationPart): Promise<void> {
		const { now, state } = this.#services;
		const { delayMs, written } = this.#state;
		if (part.operation === "insert" || part.operation === "upsert") this.#requireRoom(part);
		const { index } = part.detail;
		if (index && !changedProperties(part.operation, index, this.#state.properties))
			throw tooManyMetadataIndexes();
		this.#services.transaction(() => {
			state.change({ written: written + 1 });
			this.#journal.append(part, { number: written + 1, now: now(), visibleAt: now() + delayMs });
		});
		if (part.isLast && delayMs === 0) await this.applyDue();
	}

	/**
	 * Ids are looked up only if they may not fit, because those of a large upload take as long as a hundred small requests. The earlier parts of
	 * a refused mutation are dropped: no further one comes.
	 */
	#requireRoom({ id, batches }: MutationPart): void {
		const room = MAX_INDEX_VECTORS - this.count;
		const free = room - this.#journal.vectors;
		if (batches.reduce((sum, { records }) => sum + records.length, 0) <= free) return;
		const ids = batches.flatMap(({ records }) => records.map((record) => record.id));
		if (this.#unknown(ids) <= Math.max(0, free)) return;
		// A vector that waits may be in the index already.
		if (this.#unknown([...ids, ...this.#journal.ids()]) <= room) return;
		this.#journal.drop(id);
		throw indexFull(MAX_INDEX_VECTORS);
	}

	/** The number of ids that the index does not have. */
	#unknown(ids: Iterable<string>): number {
		const different = [...new Set(ids)];
		return different.length - this.#ids.shardsOf(different).size;
	}

	/** Applies the mutations whose time has come. */
	applyDue(): Promise<void> {
		this.#applying = this.#applying.catch(() => {}).then(() => this.#applyAll());
		return this.#applying;
	}

	async #applyAll(): Promise<void> {
		this.#journal.deleteAbandoned(this.#services.now());
		for (;;) {
			this.#requireIndex();
			const entry = this.#journal.next();
			if (!entry || entry.visibleAt > this.#services.now()) return;
			await this.#apply(entry);
			await this.#services.giveWay();
		}
	}

	async #apply(entry: JournalEntry): Promise<void> {
		const { detail, operation } = entry;
		const mutation = this.#state.applied + 1;
		if (operation === "insert" || operation === "upsert") await this.#put(entry, operation, mutation);
		else if (detail.ids) await this.#remove(detail.ids, mutation);
		this.#services.transaction(() => {
			const properties = detail.index && changedProperties(operation, detail.index, this.#state.properties);
			if (properties) {
				this.#services.shard.properties.replace(properties.all);
				this.#services.state.change({ properties });
			}
			this.#journal.delete(entry.number);
			this.#services.state.change({
				applied: mutation,
				processedAt: this.#services.now(),
				processedMutation: entry.id,
			});
		});
	}

	async #put({ number }: JournalEntry, operation: "insert" | "upsert", mutation: number): Promise<void> {
		const { further, pause, shard, transaction } = this.#services;
		const { dimensions, properties } = this.#state;
		for (let next = this.#journal.nextPart(number); next; ) {
			this.#requireIndex();
			const { batch, part } = next;
			const known = this.#ids.shardsOf(batch.records.map(({ id }) => id));
			const { batches, added } = place(batch, operation, { known, counts: this.#ids.counts, dimensions });
			const calls = [...batches]
				.filter(([at]) => at > 0)
				.map(([at, own]) => further(this.#state, at).putVectors(this.#state, properties.all, own));
			await Promise.all(calls);
			const own = batches.get(0);
			transaction(() => {
				if (own) shard.put(own, properties.all);
				for (const [id, at] of added) this.#ids.insert(id, at, mutation);
				this.#journal.deletePart(number, part);
			});
			next = this.#journal.nextPart(number);
			if (next) await pause();
		}
	}

	async #remove(ids: readonly string[], mutation: number): Promise<void> {
		const { further, shard, transaction } = this.#services;
		const found = this.#ids.shardsOf(ids);
		const byShard = Map.groupBy(found, ([, at]) => at);
		const idsAt = (at: number): string[] => (byShard.get(at) ?? []).map(([id]) => id);
		const others = [...byShard.keys()].filter((at) => at > 0);
		await Promise.all(others.map((at) => further(this.#state, at).removeVectors(idsAt(at))));
		transaction(() => {
			shard.remove(idsAt(0));
			this.#ids.delete(found, { mutation, now: this.#services.now() });
		});
	}

	async query({ vector, filter, ...query }: VectorQuery): Promise<VectorMatch[]> {
		const { metric, properties } = this.#state;
		const conditions = selectedConditions(filter, properties.all);
		const values = typeof vector === "string" ? (await this.get([vector]))[0]?.values : vector;
		if (!values) return [];
		const { topK } = query;
		const shardQuery: ShardQuery = { ...query, metric, vector: values, conditions };
		const answers = await Promise.all([
			this.#services.shard.query(shardQuery),
			...this.#others().map((shard) => shard.queryVectors(shardQuery)),
		]);
		return answers.flat().sort(byScore(metric)).slice(0, topK);
	}

	async get(ids: readonly string[]): Promise<StoredVector[]> {
		const { further, shard } = this.#services;
		const byShard = Map.groupBy(this.#ids.shardsOf(ids), ([, at]) => at);
		const found = await Promise.all(
			[...byShard].map(([at, own]) => {
				const idsOfShard = own.map(([id]) => id);
				return at === 0 ? shard.get(idsOfShard) : further(this.#state, at).vectors(idsOfShard);
			}),
		);
		const byId = new Map(found.flat().map((vector) => [vector.id, vector]));
		return [...new Set(ids)].flatMap((id) => byId.get(id) ?? []);
	}

	list(query: VectorListQuery): VectorPage {
		const { applied, object } = this.#state;
		return this.#ids.list(query, { mutation: applied, now: this.#services.now(), object });
	}

	info(): VectorIndexInfo {
		const { processedAt, processedMutation } = this.#state;
		return {
			vectorCount: this.count,
			...(processedAt !== undefined && { processedAt }),
			...(processedMutation !== undefined && { processedMutation }),
		};
	}

	get count(): number {
		return this.#ids.count;
	}

	metadataIndexes(): MetadataIndex[] {
		return this.#state.properties.all.map(({ propertyName, indexType }) => ({ propertyName, indexType }));
	}

	/** Bytes on the disk, of all objects. */
	async storedBytes(): Promise<number> {
		const others = await Promise.all(this.#others().map((shard) => shard.storedBytes()));
		return others.reduce((sum, bytes) => sum + bytes, this.#services.sql.databaseSize);
	}

	/** The index is being deleted, or was. What it answers now is not used. */
	get isDropped(): boolean {
		return this.#isDropped;
	}

	#requireIndex(): void {
		if (this.#isDropped) throw new Error("the index was deleted");
	}

	/** Ends the application of mutations first: a batch would create a further object again. */
	async dropFurther(): Promise<void> {
		this.#isDropped = true;
		await this.#applying.catch(() => {});
		await Promise.all(this.#others().map((shard) => shard.drop()));
	}

	/** The further objects that have vectors. */
	#others(): ShardCalls[] {
		return [...this.#ids.counts.keys()]
			.filter((at) => at > 0)
			.map((at) => this.#services.further(this.#state, at));
	}

	/** When something must be done. Epoch milliseconds. */
	nextTime(): number | undefined {
		const times = [this.#journal.nextTime(), this.#ids.nextExpiry()].flatMap((time) => time ?? []);
		return times.length === 0 ? undefined : Math.min(...times);
	}

	deleteExpired(): void {
		this.#ids.deleteExpired(this.#services.now());
	}
}
