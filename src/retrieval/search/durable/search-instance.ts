/**
 * The `SearchInstance` object: the items, chunks and jobs of an instance of AI Search. The bytes of items are stored objects, their vectors
 * are in a vector index, and the durable queue indexes them (work.ts). The object puts items into the queue again that are not there.
 */
import { DurableObject } from "cloudflare:workers";
import { setAlarmBy } from "../../../core/earliest-alarm.ts";
import type { Queue } from "../../../storage/queue/work.ts";
import { MAX_ITEMS } from "../limits.ts";
import { indexedMetadata } from "../metadata.ts";
import {
	type CompletedRun,
	type CustomField,
	type FoundChunk,
	type InstanceSize,
	type InstanceStats,
	type ItemLog,
	type ItemQuery,
	type ItemRun,
	isCancelled,
	type JobLog,
	type KeywordMatch,
	type KeywordQuery,
	type NewItem,
	type Page,
	type SearchItem,
	type SearchJob,
	type StoredChunk,
	type TextChunk,
	type VectorPlan,
} from "../records.ts";
import type { AnswerTable } from "./answer-table.ts";
import { openWork, startDue } from "./open-work.ts";
import {
	removeItem,
	type SearchSetup,
	type SearchTables,
	SetupTable,
	searchTables,
} from "./search-tables.ts";
import { SourceReading } from "./source-reading.ts";

/** While items have not ended, they are put into the queue after this time. The queue ignores what it has. */
const ENQUEUE_AFTER_MS = 2 * 60_000;
const CLEANED = 50;

export abstract class SearchInstanceObject extends DurableObject {
	readonly #sql: SqlStorage;
	#tables: SearchTables | undefined;

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		this.#sql = ctx.storage.sql;
	}

	/** The Worker's class has it (`index.ts`). */
	protected abstract queue(): Pick<Queue, "enqueue">;

	/** May be called again, also with another tokenizer. */
	async setup(setup: SearchSetup): Promise<void> {
		const row = new SetupTable(this.#sql);
		const before = row.get();
		const tables = this.#open();
		this.ctx.storage.transactionSync(() => {
			if (before?.tokenizer !== setup.tokenizer) tables.chunks.index(setup.tokenizer);
			row.put(setup);
		});
		// The first job is started by the one who sets the source.
		const next = setup.source && tables.jobs.nextStart(setup.source.intervalMs);
		if (next !== undefined) await this.#wake(Math.max(next, Date.now() + ENQUEUE_AFTER_MS));
	}

	/** `replaced`: the content of the bytes before. `full`: the instance has its largest number of items. `gone`: it was deleted. */
	async put(
		id: string,
		item: NewItem,
		now: number,
	): Promise<{ item: SearchItem; replaced?: string } | "full" | "gone"> {
		if (!new SetupTable(this.#sql).get()) return "gone";
		const { items, logs } = this.#open();
		const before = items.byKey(item.key);
		if (!before && items.count >= MAX_ITEMS) return "full";
		const stored = items.put(id, item, now);
		logs.addItemLog(stored.id, { timestamp: now, action: "queued", message: "The file is stored" });
		await this.#wake();
		return { item: stored, ...(before && { replaced: before.content }) };
	}

	item(id: string): SearchItem | undefined {
		return this.#open().items.get(id);
	}

	itemByKey(key: string): SearchItem | undefined {
		return this.#open().items.byKey(key);
	}

	items(query: ItemQuery): Page<SearchItem> {
		return this.#open().items.list(query);
	}

	/** Queues an item again. */
	async sync(id: string, now: number): Promise<SearchItem | undefined> {
		const { items } = this.#open();
		items.requeue(id, { now });
		await this.#wake();
		return items.get(id);
	}

	/** Queues all items again, with their values by these fields. */
	async reindex(custom: readonly CustomField[], now: number): Promise<void> {
		const { items } = this.#open();
		this.ctx.storage.transactionSync(() => {
			for (const id of items.ids()) {
				const item = items.get(id);
				if (!item) continue;
				const { key, metadata, modifiedAt: timestamp } = item;
				items.requeue(id, { now, indexed: indexedMetadata({ key, metadata, timestamp }, custom) });
			}
		});
		await this.#wake(Date.now());
	}

	/** The deleted item. */
	async remove(id: string): Promise<SearchItem | undefined> {
		const tables = this.#open();
		const item = tables.items.get(id);
		if (!item) return undefined;
		this.ctx.storage.transactionSync(() => removeItem(id, tables));
		await this.#wake();
		return item;
	}

	/** Starts a run. `undefined`: the item was deleted, has another revision, or its job was cancelled. */
	begin(id: string, revision: number, now: number): ItemRun | undefined {
		const { items } = this.#open();
		if (isCancelled(items.get(id)) || !items.change({ id, revision }, { status: "running", now }))
			return undefined;
		const item = items.get(id);
		const caller = items.stored(id)?.caller;
		return item && caller && { item, caller };
	}

	/** Before the vectors of a run are written. Returns whether the run may go on. */
	plan(plan: VectorPlan): boolean {
		const { items } = this.#open();
		if (items.get(plan.item)?.revision !== plan.revision) return false;
		items.addPlan(plan);
		return true;
	}

	/** Ends a run: its chunks replace those before, and the item is complete. `undefined`: another revision has replaced this one. */
	async complete(
		key: { id: string; revision: number },
		{ chunks, log, now }: { chunks: readonly TextChunk[]; log: ItemLog; now: number },
	): Promise<CompletedRun | undefined> {
		const tables = this.#open();
		const isCurrent = this.ctx.storage.transactionSync(() => {
			if (!tables.items.change(key, { status: "completed", chunks: chunks.length, now })) return false;
			tables.chunks.replace(key.id, key.revision, chunks);
			tables.answers.clear();
			tables.logs.addItemLog(key.id, log);
			tables.jobs.itemEnded(key.id, log, now);
			return true;
		});
		if (!isCurrent) return undefined;
		await this.#wake();
		return { size: this.size(), hasStale: tables.items.hasEarlierPlans(key) };
	}

	/** Ends a run with an error. The chunks before stay. */
	fail(
		key: { id: string; revision: number },
		{ error, log, now }: { error: string; log: ItemLog; now: number },
	): void {
		const { items, jobs, logs } = this.#open();
		this.ctx.storage.transactionSync(() => {
			if (!items.change(key, { status: "error", error, now })) return;
			logs.addItemLog(key.id, log);
			jobs.itemEnded(key.id, log, now);
		});
	}

	/** The run begins again later. */
	postpone(key: { id: string; revision: number }, log: ItemLog): void {
		const { items, logs } = this.#open();
		if (items.change(key, { status: "queued", now: log.timestamp })) logs.addNewItemLog(key.id, log);
	}

	/** Vectors of deleted items, and of earlier revisions. */
	stale(): VectorPlan[] {
		return this.#open().items.stalePlans(CLEANED);
	}

	/** The vectors of a plan are deleted. */
	cleaned(plan: VectorPlan): void {
		this.#open().items.deletePlan(plan);
	}

	keywords(query: KeywordQuery): KeywordMatch[] {
		return this.#open().chunks.matches(query);
	}

	found(ids: readonly string[]): FoundChunk[] {
		return this.#open().chunks.found(ids);
	}

	/** The texts of chunks with those beside them. */
	expanded(ids: readonly string[], beside: number): (string | undefined)[] {
		return ids.map((id) => this.#open().chunks.expanded(id, beside));
	}

	chunks(item: string, range: { limit: number; offset: number }): { chunks: StoredChunk[]; total: number } {
		return this.#open().chunks.of(item, range);
	}

	logs(item: string, limit: number, before?: number): { logs: ItemLog[]; next: number | null } {
		return this.#open().logs.itemLogs(item, limit, before);
	}

	stats(): InstanceStats {
		const { chunks, items } = this.#open();
		return { ...items.stats(), chunks: chunks.count };
	}

	size(): InstanceSize {
		const { chunks, items } = this.#open();
		return { bytes: this.#sql.databaseSize, items: items.count, chunks: chunks.count };
	}

	/** Reads the source, or queues all items, as a job, which ends an earlier one. `undefined`: the last one is too young. */
	async startJob(job: SearchJob, cooldownMs: number): Promise<SearchJob | undefined> {
		const { items, jobs } = this.#open();
		const hasSource = new SetupTable(this.#sql).get()?.source !== undefined;
		const start = () =>
			hasSource ? jobs.startReading(job, cooldownMs) : jobs.start(job, items.ids(), cooldownMs);
		const started = this.ctx.storage.transactionSync(start);
		if (started) await this.#wake(Date.now());
		return started;
	}

	jobs(limit: number, offset: number): Page<SearchJob> {
		return this.#open().logs.jobs(limit, offset);
	}

	job(id: string): SearchJob | undefined {
		return this.#open().logs.job(id);
	}

	jobLogs(id: string, limit: number, offset: number): Page<JobLog> {
		return this.#open().logs.jobLogs(id, limit, offset);
	}

	/** `undefined`: there is none. `false`: it has ended. */
	cancelJob(id: string, now: number): SearchJob | false | undefined {
		return this.ctx.storage.transactionSync(() => this.#open().jobs.cancel(id, now));
	}

	source(): SourceReading {
		return new SourceReading({
			tables: this.#open(),
			commit: (work) => this.ctx.storage.transactionSync(work),
			changed: () => this.#wake(),
		});
	}

	answers(): AnswerTable {
		return this.#open().answers;
	}

	/** Deletes everything. May be called again. */
	async drop(): Promise<void> {
		this.#tables = undefined;
		await this.ctx.storage.deleteAlarm();
		await this.ctx.storage.deleteAll();
	}

	override async alarm(): Promise<void> {
		const setup = new SetupTable(this.#sql).get();
		if (!setup) return;
		const [tables, now, { source }] = [this.#open(), Date.now(), setup];
		startDue(setup, tables.jobs, now);
		const work = openWork(setup, tables);
		if (work.length > 0) await this.ctx.storage.setAlarm(now + ENQUEUE_AFTER_MS);
		else if (source) await this.ctx.storage.setAlarm(tables.jobs.nextStart(source.intervalMs));
		const queue = this.queue();
		// The queue is full or unreachable: the next alarm tries again.
		if (work.length > 0) await queue.enqueue(work).catch(() => 0);
	}

	/** By the clock of this object: by that of a caller, which may be behind, the alarm could be due at once. */
	#wake(time = Date.now() + ENQUEUE_AFTER_MS): Promise<void> {
		return setAlarmBy(this.ctx.storage, time);
	}

	#open(): SearchTables {
		this.#tables ??= searchTables(this.#sql);
		return this.#tables;
	}
}
