/** The `VectorRegistry` object: the vector indexes of one account, the bytes of each, and their moves to other stores. */
import { DurableObject } from "cloudflare:workers";
import { utcDay } from "../../../accounts/clock.ts";
import { eraseObject } from "../../../core/erase-object.ts";
import { processId } from "../../../core/process-id.ts";
import type { Queue } from "../../../storage/queue/work.ts";
import { moveItem } from "../move-item.ts";
import type { VectorIndexRecord, VectorMatch, VectorQuery } from "../records.ts";
import { DayTable, type QueryReport, type VectorDay, type VectorPeriod } from "./day-table.ts";
import { DeletedTable } from "./deleted-table.ts";
import type { IndexAnswer } from "./index-answer.ts";
import {
	type ChangedId,
	type IndexMove,
	MoveTable,
	type MutationStart,
	type NewMutation,
} from "./move-table.ts";
import { type QueryContext, StoreQueries } from "./store-queries.ts";

/** Written by the routes. `bytes` on the disk, and `vectors`: after the last mutation. A row dies when the index is deleted. */
const INDEXES = `CREATE TABLE IF NOT EXISTS indexes (
	name TEXT PRIMARY KEY,
	json TEXT NOT NULL,
	dimensions INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	vectors INTEGER NOT NULL
) WITHOUT ROWID`;
/** While an index moves, its work is put into the queue again after this time, if it is not there. */
const ENQUEUE_AFTER_MS = 10_000;

export type Creation = "created" | "exists" | "too-many";

/** The size of an index after a mutation. */
export interface IndexSize {
	/** On the disk. */
	bytes: number;
	vectors: number;
}

export interface VectorUsage extends IndexSize {
	indexes: number;
	/** Dimensions of all stored vectors. */
	storedDimensions: number;
	/** Since the account exists. */
	queries: number;
	queriedDimensions: number;
}

export abstract class VectorRegistryObject extends DurableObject {
	readonly #sql: SqlStorage;
	readonly #moves: MoveTable;
	readonly #days: DayTable;
	readonly #deleted: DeletedTable;
	readonly #queries = new StoreQueries();

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		this.#sql = ctx.storage.sql;
		this.#sql.exec(INDEXES);
		this.#deleted = new DeletedTable(this.#sql);
		this.#moves = new MoveTable(this.#sql);
		this.#days = new DayTable(this.#sql);
		if (this.isOnlyProcess()) this.#moves.endOthers(processId(), Date.now());
	}

	/** Whether all requests of the gateway run in the process of this object. */
	protected abstract isOnlyProcess(): boolean;

	protected abstract queue(): Pick<Queue, "enqueue">;

	/** Deletes the vectors of an index. */
	protected abstract drop(record: VectorIndexRecord): Promise<void>;

	/** Queries an index in a store with connections, by those of this object. */
	protected abstract search(
		record: VectorIndexRecord,
		query: VectorQuery,
		context: QueryContext,
	): Promise<VectorMatch[]>;

	queryStore(id: string, record: VectorIndexRecord, query: VectorQuery): Promise<IndexAnswer<VectorMatch[]>> {
		return this.#queries.run(id, (context) => this.search(record, query, context));
	}

	/** The caller of the query has left. */
	leaveQuery(id: string): void {
		this.#queries.leave(id);
	}

	create(record: VectorIndexRecord, maxIndexes: number): Creation {
		if (this.get(record.name)) return "exists";
		if (this.usage().indexes >= maxIndexes) return "too-many";
		const { dimensions, name } = record;
		this.#sql.exec("INSERT INTO indexes VALUES (?, ?, ?, 0, 0)", name, JSON.stringify(record), dimensions);
		return "created";
	}

	get(name: string): VectorIndexRecord | undefined {
		const [row] = this.#sql.exec<{ json: string }>("SELECT json FROM indexes WHERE name = ?", name).toArray();
		return row && JSON.parse(row.json);
	}

	list(): VectorIndexRecord[] {
		return this.#sql
			.exec<{ json: string }>("SELECT json FROM indexes ORDER BY name")
			.toArray()
			.map(({ json }) => JSON.parse(json));
	}

	/** Deletes all indexes. Returns the number of rows, or nothing while a store still has vectors. */
	async erase(): Promise<number | undefined> {
		const today = utcDay(Date.now());
		for (const { name } of this.list()) await this.delete(name, today);
		this.#queries.close();
		if (this.#deleted.isEmpty) return eraseObject(this.ctx, { constant: ["queries"] });
		this.#deleted.setDue(Date.now());
		await this.ctx.storage.setAlarm(Date.now());
		return undefined;
	}

	/** Returns the deleted index, whose vectors are deleted later. */
	async delete(name: string, day: string): Promise<VectorIndexRecord | undefined> {
		const record = this.get(name);
		if (!record) return undefined;
		const now = Date.now();
		this.#queries.close();
		this.#sql.exec("DELETE FROM indexes WHERE name = ?", name);
		this.#days.setStored(name, day, 0);
		const move = this.#moves.running(name);
		this.#moves.delete(name);
		if (move) await this.#dropLater(move.target, now);
		await this.#dropLater(record, now);
		return record;
	}

	async #dropLater(record: VectorIndexRecord, now: number): Promise<void> {
		this.#deleted.add(record, now);
		await this.ctx.storage.setAlarm(now);
	}

	/** Announces a mutation. Counts its bytes, if the account has room for them. */
	begin(name: string, { bytes, ids, maxBytes, object }: NewMutation): MutationStart {
		const record = this.get(name);
		if (!record) return { outcome: "gone" };
		if (record.object !== object) return { outcome: "moved", record };
		const move = this.#moves.running(name);
		const now = Date.now();
		if (move && move.pausedUntil > now) return { outcome: "wait" };
		if (bytes > 0) {
			if (this.usage().bytes + bytes > maxBytes) return { outcome: "full" };
			this.#sql.exec("UPDATE indexes SET bytes = bytes + ? WHERE name = ?", bytes, name);
		}
		return {
			outcome: "write",
			...(move && { number: this.#moves.begin(name, ids, { now, process: processId() }) }),
		};
	}

	/** The mutation goes on. */
	renew(number: number): void {
		this.#moves.renew(number, Date.now());
	}

	/** The mutation has ended, or has failed. `false`: it counted as ended before, so the move may lack it. */
	end(number: number): boolean {
		return this.#moves.end(number);
	}

	/** Begins a move, unless one runs. Returns the one that runs. */
	async startMove(name: string, move: IndexMove): Promise<IndexMove> {
		const running = this.#moves.running(name);
		if (running) return running;
		this.#moves.delete(name);
		this.#moves.set(name, move);
		await this.ctx.storage.setAlarm(Date.now());
		return move;
	}

	move(name: string): IndexMove | undefined {
		return this.#moves.get(name);
	}

	/** Changes a move that runs. `undefined`: it does not, or another run has taken it over. */
	changeMove(name: string, fence: number, changes: Partial<IndexMove>): IndexMove | undefined {
		const move = this.#moves.running(name);
		if (!move || move.fence > fence) return undefined;
		const changed = { ...move, ...changes, fence };
		this.#moves.set(name, changed);
		return changed;
	}

	/** Mutations wait from now on, for a time. */
	pauseMutations(name: string, fence: number, milliseconds: number): IndexMove | undefined {
		return this.changeMove(name, fence, { pausedUntil: Date.now() + milliseconds });
	}

	changed(name: string, limit: number): ChangedId[] {
		return this.#moves.changed(name, limit);
	}

	copied(name: string, ids: readonly ChangedId[]): void {
		this.#moves.copied(name, ids);
	}

	/** Mutations that have not ended, and vectors that are changed and not copied. */
	pending(name: string): { mutations: number; changes: number } {
		const mutations = this.#moves.runningMutations(name, Date.now());
		return { mutations, changes: this.#moves.changes(name) };
	}

	/** The index is in its new store from now on, if nothing is pending and mutations still wait. */
	async switchStore(name: string, fence: number): Promise<boolean> {
		const now = Date.now();
		const move = this.#moves.running(name);
		const old = this.get(name);
		if (!move || !old || move.fence > fence || move.pausedUntil <= now) return false;
		const { changes, mutations } = this.pending(name);
		if (changes > 0 || mutations > 0) return false;
		this.#sql.exec("UPDATE indexes SET json = ? WHERE name = ?", JSON.stringify(move.target), name);
		this.#moves.set(name, { ...move, phase: "completed", pausedUntil: 0 });
		this.#moves.forget(name);
		await this.#dropLater(old, now);
		return true;
	}

	/** The index stays where it is. What is in the new store is deleted. */
	async endMove(name: string, end: Pick<IndexMove, "phase" | "error">): Promise<IndexMove | undefined> {
		const move = this.#moves.running(name);
		if (!move) return undefined;
		const ended: IndexMove = { ...move, ...end, pausedUntil: 0 };
		this.#moves.set(name, ended);
		this.#moves.forget(name);
		await this.#dropLater(move.target, Date.now());
		return ended;
	}

	report(name: string, { bytes, vectors }: IndexSize, day: string): void {
		const record = this.get(name);
		if (!record) return;
		this.#sql.exec("UPDATE indexes SET bytes = ?, vectors = ? WHERE name = ?", bytes, vectors, name);
		this.#days.setStored(name, day, vectors * record.dimensions);
	}

	countQueries(report: QueryReport): void {
		this.ctx.storage.transactionSync(() => this.#days.count(report, Date.now()));
	}

	days(period: VectorPeriod): { rows: VectorDay[]; truncated: boolean } {
		return this.#days.report(period);
	}

	usage(): VectorUsage {
		const stored = this.#sql
			.exec<{ indexes: number; bytes: number; vectors: number; storedDimensions: number }>(
				`SELECT count(*) AS indexes, coalesce(sum(bytes), 0) AS bytes, coalesce(sum(vectors), 0) AS vectors,
				coalesce(sum(vectors * dimensions), 0) AS storedDimensions FROM indexes`,
			)
			.one();
		return { ...stored, ...this.#days.totals() };
	}

	override async alarm(): Promise<void> {
		const now = Date.now();
		const due = await this.#deleted.dropDue(now, (record) => this.drop(record));
		const times = [due, await this.#enqueueMoves(now)].flatMap((time) => time ?? []);
		if (times.length > 0) await this.ctx.storage.setAlarm(Math.min(...times));
	}

	/** The queue keeps an item that it has. Returns when the next alarm must be. */
	async #enqueueMoves(now: number): Promise<number | undefined> {
		const moves = this.#moves.allRunning();
		if (moves.length === 0) return undefined;
		// The queue is full or unreachable: the next alarm tries again.
		await this.queue()
			.enqueue(
				moves.map(({ move, name }) => moveItem(move.account, { index: name, object: move.target.object })),
			)
			.catch(() => 0);
		return now + ENQUEUE_AFTER_MS;
	}
}
