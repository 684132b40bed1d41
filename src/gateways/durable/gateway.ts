/** The `Gateway` object: the logs and the limits of one gateway. */
import { DurableObject } from "cloudflare:workers";
import { setAlarmBy } from "../../core/earliest-alarm.ts";
import { eraseObject } from "../../core/erase-object.ts";
import { startNativeTimer } from "../../core/lazy-timer.ts";
import type {
	ComparisonPage,
	ComparisonPageQuery,
	ComparisonSource,
	NewComparison,
} from "../comparisons/records.ts";
import type { LogRetention } from "../logs/collection.ts";
import type { LogBatch } from "../logs/log-batch.ts";
import type { LogPayloads, LogRow, Payload, PayloadPart } from "../logs/log-row.ts";
import { timeOfId } from "../logs/log-row.ts";
import type { LogQuery } from "../logs/query.ts";
import { type KeptRegistries, KeptReporter } from "./kept-bytes.ts";
import { type LogPage, type LogPageQuery, type LogPatch, LogTable } from "./log-table.ts";
import { type PayloadBucket, PayloadObjects } from "./payload-objects.ts";
import { type Window, Windows } from "./windows.ts";

/** A log is kept this long at most. */
export const KEPT_MS = 30 * 24 * 3_600_000;
/** The least time between two deletions of the retention. */
const CONTINUE_MS = 1_000;
/** The row of a request may arrive so much later than its answer. A read of its id waits for it. */
const ARRIVAL_MS = 1_000;
/** Ids of this age may still arrive. A clock of another machine may be ahead. */
const RECENT_MS = 60_000;
/** After a deletion of objects that failed. */
const DELETE_AGAIN_MS = 60_000;
/** Reads that wait. */
const MAX_WAITING = 100;

interface LogDetails extends LogPayloads {
	row: LogRow;
}

export interface LimitedWindow extends Window {
	limit: number;
	/** `count`: requests, counted when they are admitted. `cost`: US dollars, added when they end. */
	unit: "count" | "cost";
}

interface GatewayBindings {
	/** For large payloads of logs. */
	LOGS_BUCKET?: PayloadBucket;
	GATEWAYS?: KeptRegistries;
}

/** The last gateway of this name that was deleted. Its requests may end later, and their logs do not belong to the next one. */
const DELETED =
	"CREATE TABLE IF NOT EXISTS deleted (id INTEGER PRIMARY KEY CHECK (id = 0), created_at INTEGER NOT NULL)";

export class Gateway extends DurableObject<GatewayBindings> {
	readonly #logs: LogTable;
	/** Absent without a bucket. */
	readonly #objects: PayloadObjects | undefined;
	readonly #windows: Windows;
	/** When the last deleted gateway of this name was created. */
	#deleted: number;
	readonly #kept: KeptReporter;
	/** Reads that wait for a row, by its id. */
	readonly #waiting = new Map<string, Set<() => void>>();

	constructor(ctx: DurableObjectState, env: GatewayBindings) {
		super(ctx, env);
		const bucket = env.LOGS_BUCKET;
		const folder = `logs/${ctx.id.name ?? ctx.id.toString()}`;
		this.#logs = new LogTable(ctx.storage.sql, bucket && ((log, part) => `${folder}/${log}/${part}`));
		this.#objects = bucket && new PayloadObjects(bucket, this.#logs.payloads);
		this.#windows = new Windows(ctx.storage.sql);
		this.#kept = new KeptReporter("logs", ctx.id.name, env.GATEWAYS);
		ctx.storage.sql.exec(DELETED);
		const [row] = ctx.storage.sql.exec<{ created_at: number }>("SELECT created_at FROM deleted").toArray();
		this.#deleted = row?.created_at ?? Number.NEGATIVE_INFINITY;
	}

	/** Counts a request in every window, unless one of them is full. Returns the index of the first full one. */
	take(windows: readonly LimitedWindow[], now: number): number | undefined {
		const full = windows.findIndex((window) => {
			const amount = this.#windows.amount(window, now);
			return window.unit === "count" ? amount + 1 > window.limit : amount >= window.limit;
		});
		if (full >= 0) return full;
		for (const window of windows) if (window.unit === "count") this.#windows.add(window, 1, now);
		return undefined;
	}

	/** Adds a cost in US dollars. */
	spend(windows: readonly Window[], cost: number, now: number): void {
		for (const window of windows) this.#windows.add(window, cost, now);
	}

	/**
	 * Adds logs, unless their gateway was deleted. A second delivery of a log changes nothing.
	 * @returns the number of payloads that the bucket did not store.
	 */
	async append(batch: LogBatch, retention: LogRetention): Promise<number> {
		const { createdAt } = retention;
		if (createdAt !== undefined && createdAt <= this.#deleted) return 0;
		const { ids, large } = batch;
		// A batch that fails is delivered again. Its rows must not exist then, because their metadata and payloads would be ignored.
		this.ctx.storage.transactionSync(() => {
			this.#insert(batch, retention);
		});
		if (this.#waiting.size > 0)
			for (const id of ids) for (const arrived of this.#waiting.get(id) ?? []) arrived();
		if ((await this.ctx.storage.getAlarm()) === null) await this.#schedule();
		// The rows do not wait for the bucket.
		const lost = (await this.#objects?.store(large)) ?? 0;
		await this.#reportBytes(retention);
		await this.#deleteObjects();
		return lost;
	}

	/** Deletes the oldest logs for other gateways of the account. Returns the bytes of the database. */
	async deleteDownTo(bytes: number): Promise<number> {
		this.#kept.allowed = bytes;
		this.#logs.deleteDownTo(bytes);
		await this.#deleteObjects();
		return this.#logs.bytes;
	}

	/** A read right after an answer waits for its row, which its isolate may still be sending. */
	async log(id: string): Promise<LogDetails | undefined> {
		const row = this.#logs.get(id) ?? (await this.#arrival(id));
		return row && { row, ...this.#logs.payloadsOf(row) };
	}

	/** A complete payload. `undefined`: it was not collected, or the bucket does not have it. */
	async payload(id: string, part: PayloadPart): Promise<Payload | undefined> {
		const reference = this.#logs.payloads.reference(id, part);
		if (!reference) {
			const row = this.#logs.get(id);
			return row && this.#logs.payloadsOf(row)[part];
		}
		const text = await this.#objects?.read(reference.key);
		return text === undefined ? undefined : { text, complete: reference.complete };
	}

	logs(query: LogPageQuery): LogPage {
		return this.#logs.page(query);
	}

	/** Returns whether the log exists. */
	async patchLog(id: string, patch: LogPatch): Promise<boolean> {
		if (!this.#logs.get(id)) await this.#arrival(id);
		return this.#logs.patch(id, patch);
	}

	/** Returns the number of deleted logs. */
	async deleteLogs(query: LogQuery & { limit?: number | undefined }): Promise<number> {
		const deleted = this.#logs.delete(query);
		await this.#deleteObjects();
		return deleted;
	}

	/** The ids of the first logs of the query that can be sent again. */
	replayable(query: LogQuery, limit: number): string[] {
		return this.#logs.replayable(query, limit);
	}

	/** Adds answers beside those of logs. They count as bytes of the logs, whose retention deletes them. */
	async addComparisons(
		source: string,
		comparisons: readonly NewComparison[],
		retention: LogRetention,
	): Promise<void> {
		const { maxBytes, strategy } = retention;
		const most = Math.min(maxBytes ?? Number.POSITIVE_INFINITY, this.#kept.allowed);
		if (strategy === "STOP_INSERTING" && this.#logs.bytes >= most) return;
		this.ctx.storage.transactionSync(() => {
			this.#logs.comparisons.insert(source, comparisons);
			if (strategy === "DELETE_OLDEST") this.#logs.deleteDownTo(most);
		});
		await this.#reportBytes(retention);
		await this.#deleteObjects();
	}

	comparisons(query: ComparisonPageQuery): ComparisonPage {
		return this.#logs.comparisons.page(query);
	}

	comparisonSources(beginning: string): ComparisonSource[] {
		return this.#logs.comparisons.sources(beginning);
	}

	deleteComparisons(source: string): void {
		this.#logs.comparisons.delete(source);
	}

	/** The gateway was deleted. `createdAt`: as in {@link LogRetention}. */
	async clear(createdAt?: number): Promise<void> {
		if (createdAt !== undefined) {
			this.#deleted = createdAt;
			this.ctx.storage.sql.exec("INSERT OR REPLACE INTO deleted VALUES (0, ?)", createdAt);
		}
		this.#logs.delete({ filters: [], orderBy: "created_at", direction: "asc" });
		this.#windows.clear();
		await this.ctx.storage.deleteAlarm();
		await this.#deleteObjects();
	}

	/** Deletes everything. Returns the number of rows, or nothing while the bucket still has payloads. */
	async erase(): Promise<number | undefined> {
		const deleted = this.#logs.delete({ filters: [], orderBy: "created_at", direction: "asc" });
		if (!((await this.#objects?.sweep()) ?? true)) return undefined;
		return eraseObject(this.ctx, { constant: ["log_count"], deleted });
	}

	override async alarm(): Promise<void> {
		this.#logs.deleteBefore(Date.now() - KEPT_MS);
		await this.#schedule();
		await this.#deleteObjects();
	}

	#insert(batch: LogBatch, { max, strategy, maxBytes }: LogRetention): void {
		const most = Math.min(maxBytes ?? Number.POSITIVE_INFINITY, this.#kept.allowed);
		if (strategy === "STOP_INSERTING") {
			const isFull = this.#logs.bytes >= most;
			this.#logs.insert(batch, isFull ? 0 : Math.max(0, max - this.#logs.count));
			return;
		}
		this.#logs.insert(batch);
		this.#logs.deleteOldest(max);
		this.#logs.deleteDownTo(most);
	}

	async #reportBytes({ strategy, accountMaxBytes: max }: LogRetention): Promise<void> {
		if (max === undefined) return;
		const evicts = strategy === "DELETE_OLDEST";
		await this.#kept.report({ bytes: this.#logs.bytes, max, evicts });
		if (!evicts || this.#logs.bytes <= this.#kept.allowed) return;
		this.#logs.deleteDownTo(this.#kept.allowed);
		await this.#kept.report({ bytes: this.#logs.bytes, max, evicts });
	}

	/** Deletes the objects of deleted logs. If the bucket fails, the alarm repeats it. */
	async #deleteObjects(): Promise<void> {
		if ((await this.#objects?.sweep()) ?? true) return;
		await setAlarmBy(this.ctx.storage, Date.now() + DELETE_AGAIN_MS);
	}

	async #schedule(): Promise<void> {
		const oldest = this.#logs.oldest();
		if (oldest !== undefined)
			await this.ctx.storage.setAlarm(Math.max(oldest + KEPT_MS, Date.now() + CONTINUE_MS));
	}

	async #arrival(id: string): Promise<LogRow | undefined> {
		const age = Date.now() - timeOfId(id);
		if (!(Math.abs(age) < RECENT_MS) || this.#waiting.size >= MAX_WAITING) return undefined;
		const { promise, resolve } = Promise.withResolvers<void>();
		const waiting = this.#waiting.get(id) ?? new Set();
		this.#waiting.set(id, waiting.add(resolve));
		const timer = startNativeTimer(ARRIVAL_MS, resolve);
		await promise;
		timer.cancel();
		waiting.delete(resolve);
		if (waiting.size === 0) this.#waiting.delete(id);
		return this.#logs.get(id);
	}
}
