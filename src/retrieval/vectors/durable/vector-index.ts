/**
 * The `VectorIndex` object: an index of the kind `builtin` (index-engine.ts), or the further vectors of one. The object of an index that was
 * deleted, or was never created, is empty.
 */
import { DurableObject } from "cloudflare:workers";
import type { NumberedProperty } from "../properties.ts";
import type {
	MetadataIndex,
	StoredVector,
	VectorBatch,
	VectorIndexInfo,
	VectorListQuery,
	VectorMatch,
	VectorPage,
	VectorQuery,
} from "../records.ts";
import { answerOf, type IndexAnswer } from "./index-answer.ts";
import { IndexEngine } from "./index-engine.ts";
import { type IndexSetup, StateTable } from "./index-state.ts";
import type { MutationPart } from "./journal.ts";
import type { IndexSize } from "./registry.ts";
import { Shard, type ShardCalls, type ShardQuery } from "./shard.ts";

/** A failed application of mutations is repeated. */
const RETRY_MS = 5_000;
const GONE: IndexAnswer<never> = { ok: false, failure: "gone", description: "" };

export abstract class VectorIndexObject extends DurableObject implements ShardCalls {
	#state: StateTable;
	#shard: Shard | undefined;
	#engine: IndexEngine | undefined;

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		this.#state = new StateTable(ctx.storage.sql);
	}

	/** A further object of an index, by its name. */
	protected abstract further(name: string): ShardCalls;

	/** Waits as long as requests wait for a runtime that is behind, at most half a second. */
	protected abstract giveWay(): Promise<void>;

	/** Creates the index, unless it exists. */
	create(setup: IndexSetup): void {
		if (!this.#state.current) this.#state.create(setup);
	}

	/** Resolves when the mutation is durable, and visible if it has no delay. */
	write(part: MutationPart): Promise<IndexAnswer<IndexSize>> {
		return this.#answer(async (engine) => {
			try {
				await engine.write(part);
			} finally {
				await this.#schedule(engine);
			}
			return { bytes: await engine.storedBytes(), vectors: engine.count };
		});
	}

	query(query: VectorQuery): Promise<IndexAnswer<VectorMatch[]>> {
		return this.#answer((engine) => engine.query(query));
	}

	get(ids: readonly string[]): Promise<IndexAnswer<StoredVector[]>> {
		return this.#answer((engine) => engine.get(ids));
	}

	list(query: VectorListQuery): Promise<IndexAnswer<VectorPage>> {
		return this.#answer((engine) => engine.list(query));
	}

	info(): Promise<IndexAnswer<VectorIndexInfo>> {
		return this.#answer((engine) => engine.info());
	}

	metadataIndexes(): Promise<IndexAnswer<MetadataIndex[]>> {
		return this.#answer((engine) => engine.metadataIndexes());
	}

	putVectors(setup: IndexSetup, properties: readonly NumberedProperty[], batch: VectorBatch): Promise<void> {
		this.create(setup);
		this.#transaction(() => this.#opened().put(batch, properties));
		return Promise.resolve();
	}

	async removeVectors(ids: readonly string[]): Promise<void> {
		this.#transaction(() => this.#opened().remove(ids));
	}

	queryVectors(query: ShardQuery): Promise<VectorMatch[]> {
		return this.#opened().query(query);
	}

	async vectors(ids: readonly string[]): Promise<StoredVector[]> {
		return this.#opened().get(ids);
	}

	async storedBytes(): Promise<number> {
		return this.ctx.storage.sql.databaseSize;
	}

	/** Deletes everything. May be called again. */
	async drop(): Promise<void> {
		if (this.#state.current) await this.#open().dropFurther();
		this.#shard?.close();
		this.#shard = undefined;
		this.#engine = undefined;
		await this.ctx.storage.deleteAlarm();
		await this.ctx.storage.deleteAll();
		this.#state = new StateTable(this.ctx.storage.sql);
	}

	override async alarm(): Promise<void> {
		if (!this.#state.current) return;
		const engine = this.#open();
		try {
			engine.deleteExpired();
			await engine.applyDue();
		} catch {
			// The disk is full, or a further object cannot be called now.
		}
		await this.#schedule(engine);
	}

	/** A time that is past is one of a call that failed. */
	async #schedule(engine: IndexEngine): Promise<void> {
		if (engine.isDropped) return;
		const time = engine.nextTime();
		if (time === undefined) return;
		const now = Date.now();
		await this.ctx.storage.setAlarm(time > now ? time : now + RETRY_MS);
	}

	async #answer<Value>(use: (engine: IndexEngine) => Value | Promise<Value>): Promise<IndexAnswer<Value>> {
		const engine = this.#state.current && this.#open();
		if (!engine || engine.isDropped) return GONE;
		try {
			return await answerOf(() => use(engine));
		} catch (error) {
			if (engine.isDropped) return GONE;
			throw error;
		}
	}

	/** If it fails, what the object has in memory differs from the disk: it starts again. */
	#transaction(write: () => void): void {
		try {
			this.ctx.storage.transactionSync(write);
		} catch (error) {
			this.#shard?.close();
			this.ctx.abort("a write has failed");
			throw error;
		}
	}

	#open(): IndexEngine {
		this.#engine ??= new IndexEngine({
			sql: this.ctx.storage.sql,
			transaction: (write) => this.#transaction(write),
			state: this.#state,
			shard: this.#opened(),
			further: ({ object }, number) => this.further(furtherName(object, number)),
			now: Date.now,
			giveWay: () => this.giveWay(),
			pause,
		});
		return this.#engine;
	}

	#opened(): Shard {
		const { current } = this.#state;
		if (!current) throw new Error("the index was deleted");
		this.#shard ??= new Shard(this.ctx.storage.sql, {
			account: current.account,
			owner: this.ctx.id.toString(),
			dimensions: current.dimensions,
			now: Date.now,
			pause,
		});
		return this.#shard;
	}
}

/** Lets other requests run. */
const pause = (): Promise<void> => scheduler.wait(1);

/** The name of a further object. */
const furtherName = (object: string, number: number): string => `${object}.${number}`;
