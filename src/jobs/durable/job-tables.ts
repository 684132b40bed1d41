/** The tables of the `JobStore` object, and its alarm. */
import { setAlarmBy } from "../../core/earliest-alarm.ts";
import { hasEnded } from "../batches/records.ts";
import type { JobUsage } from "../records.ts";
import { AdapterTable } from "./adapter-table.ts";
import { BatchTable } from "./batch-table.ts";
import { BillTable } from "./bill-table.ts";
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

export class JobTables {
	readonly adapters: AdapterTable;
	readonly files: FileTable;
	readonly batches: BatchTable;
	readonly lines: LineTable;
	readonly bills: BillTable;
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

	/** Whether a batch that has not ended reads the file. */
	isInput(file: string): boolean {
		return this.batches.open().some((batch) => batch.inputFile === file && !hasEnded(batch));
	}

	/** Sets the alarm to the first expiry, or to the time when batches must be in the queue, or deleted adapters must be gone. */
	async schedule(): Promise<void> {
		const times = [this.files.nextExpiry(), this.batches.nextExpiry()];
		if (this.batches.open().length > 0) times.push(Date.now() + ENQUEUE_AFTER_MS);
		if (this.adapters.deleted().length > 0) times.push(Date.now() + DELETE_AFTER_MS);
		const next = Math.min(...times.map((time) => time ?? Number.POSITIVE_INFINITY));
		// An expired file stays while a batch reads it.
		if (next < Number.POSITIVE_INFINITY) await this.scheduleAt(Math.max(next, Date.now() + MIN_ALARM_MS));
	}

	/** Sets the alarm to this time, unless there is an earlier one. */
	scheduleAt(time: number): Promise<void> {
		return setAlarmBy(this.#storage, time);
	}
}
