/** The tables of the `JobStore` object, and its alarm. */
import { setAlarmBy } from "../../core/earliest-alarm.ts";
import { hasEnded } from "../batches/records.ts";
import type { JobUsage } from "../records.ts";
import { AdapterTable } from "./adapter-table.ts";
import { BatchTable } from "./batch-table.ts";
import { BillTable } from "./bill-table.ts";
import { FailedDeletions } from "./failed-deletions.ts";
import { FileTable } from "./file-table.ts";
import { LineTable } from "./line-table.ts";

/** One row: the account, which the alarm needs. Written by the first call that stores something. */
const ACCOUNT = `CREATE TABLE IF NOT EXISTS account (
	id INTEGER PRIMARY KEY CHECK (id = 0),
	account TEXT NOT NULL
)`;

/** While a batch has not ended, it is put into the queue after this time. The queue ignores what it has. */
export const ENQUEUE_AFTER_MS = 2 * 60_000;
const MIN_ALARM_MS = 10_000;
/** The request that deletes an adapter deletes its bytes too. The alarm deletes what is left. */
const DELETE_AFTER_MS = 60_000;
const SECOND_MS = 1_000;
/** A folder of adapters may answer after two minutes, and an alarm ends after 15 on Cloudflare. */
const ADAPTERS_AT_ONCE = 5;

export class JobTables {
	readonly adapters: AdapterTable;
	readonly files: FileTable;
	readonly batches: BatchTable;
	readonly lines: LineTable;
	readonly bills: BillTable;
	readonly failedDeletions: FailedDeletions;
	readonly #storage: DurableObjectStorage;

	constructor(storage: DurableObjectStorage) {
		const { sql } = storage;
		this.#storage = storage;
		sql.exec(ACCOUNT);
		this.adapters = new AdapterTable(sql);
		this.files = new FileTable(sql);
		this.batches = new BatchTable(sql);
		this.lines = new LineTable(sql);
		this.bills = new BillTable(sql);
		this.failedDeletions = new FailedDeletions(sql);
	}

	get account(): string | undefined {
		return this.#storage.sql.exec<{ account: string }>("SELECT account FROM account").toArray()[0]?.account;
	}

	setAccount(account: string): void {
		this.#storage.sql.exec("INSERT OR IGNORE INTO account VALUES (0, ?)", account);
	}

	/** Of all rows, most of them results of lines. */
	get bytes(): number {
		return this.#storage.sql.databaseSize;
	}

	usage(): JobUsage {
		const open = this.batches.open();
		const oldest = Math.min(...open.map(({ createdAt }) => createdAt));
		return {
			...this.files.usage(),
			...this.adapters.usage(),
			openBatches: open.length,
			openLines: open.reduce((sum, { total, succeeded, failed }) => sum + total - succeeded - failed, 0),
			replays: this.batches.count("replay"),
			oldestSeconds: open.length > 0 ? Math.max(0, Date.now() - oldest) / SECOND_MS : 0,
			...this.bills.counts(),
		};
	}

	/** The files that batches read which have not ended. */
	inputs(): string[] {
		return this.batches.open().flatMap((batch) => (hasEnded(batch) ? [] : (batch.inputFile ?? [])));
	}

	/** The bytes of a file are gone. */
	forgetFile(id: string): void {
		this.files.forget(id, Date.now());
		this.failedDeletions.delete(id);
	}

	/** The bytes of a batch are gone. */
	forgetBatch(id: string): void {
		this.batches.forget(id, Date.now());
		this.failedDeletions.delete(id);
	}

	/** The bytes of an adapter are gone. */
	forgetAdapter(id: string): void {
		this.adapters.forget(id);
		this.failedDeletions.delete(id);
	}

	/** Some adapters whose bytes may be deleted now, those first that have waited longest. */
	deletableAdapters(now: number): string[] {
		const times = this.failedDeletions.times(now);
		const timeOf = (id: string): number => times.get(id) ?? 0;
		return this.adapters
			.deleted()
			.filter((id) => timeOf(id) <= now)
			.sort((one, other) => timeOf(one) - timeOf(other))
			.slice(0, ADAPTERS_AT_ONCE);
	}

	/** Sets the alarm to the first expiry, or to the time when batches must be in the queue, or deletions must be repeated. */
	async schedule(): Promise<void> {
		const now = Date.now();
		const failed = this.failedDeletions.times(now);
		const expiries = [this.files.nextExpiry(now), this.batches.nextExpiry(now)];
		const times = [...failed.values(), ...expiries.filter((time) => time !== undefined)];
		if (this.batches.open().length > 0) times.push(now + ENQUEUE_AFTER_MS);
		for (const id of this.adapters.deleted()) times.push(failed.get(id) ?? now + DELETE_AFTER_MS);
		const next = times.reduce((first, time) => Math.min(first, time), Number.POSITIVE_INFINITY);
		// An expired file stays while a batch reads it.
		if (next < Number.POSITIVE_INFINITY) await this.scheduleAt(Math.max(next, now + MIN_ALARM_MS));
	}

	/** Sets the alarm to this time, unless there is an earlier one. */
	scheduleAt(time: number): Promise<void> {
		return setAlarmBy(this.#storage, time);
	}
}
