/** The logs of items, and the jobs with their logs. Old rows are deleted. */
import type { ItemLog, JobLog, Page, SearchJob } from "../records.ts";

/** Written by the durable work. Rows die with the item, or when it has newer ones. */
const ITEM_LOGS = `CREATE TABLE IF NOT EXISTS item_logs (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	item TEXT NOT NULL,
	json TEXT NOT NULL
); CREATE INDEX IF NOT EXISTS item_logs_by_item ON item_logs (item, number)`;
/** Written by callers and the durable work. `json`: a `SearchJob`. */
const JOBS = `CREATE TABLE IF NOT EXISTS jobs (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	json TEXT NOT NULL
)`;
const JOB_LOGS = `CREATE TABLE IF NOT EXISTS job_logs (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	job TEXT NOT NULL,
	message TEXT NOT NULL,
	type INTEGER NOT NULL,
	created_at INTEGER NOT NULL
); CREATE INDEX IF NOT EXISTS job_logs_by_job ON job_logs (job, number)`;

const MAX_ITEM_LOGS = 100;
const MAX_JOBS = 100;

export class LogTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(`${ITEM_LOGS}; ${JOBS}; ${JOB_LOGS}`);
	}

	addItemLog(item: string, log: ItemLog): void {
		this.#sql.exec("INSERT INTO item_logs (item, json) VALUES (?, ?)", item, JSON.stringify(log));
		this.#sql.exec(
			"DELETE FROM item_logs WHERE item = ?1 AND number <= (SELECT number FROM item_logs WHERE item = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
			item,
			MAX_ITEM_LOGS,
		);
	}

	/** Adds none if the newest one has the same text. */
	addNewItemLog(item: string, log: ItemLog): void {
		const [newest] = this.itemLogs(item, 1).logs;
		if (newest?.message !== log.message) this.addItemLog(item, log);
	}

	/** The newest ones first. `before`: the cursor of the page before. */
	itemLogs(item: string, limit: number, before?: number): { logs: ItemLog[]; next: number | null } {
		const rows = this.#sql
			.exec<{ number: number; json: string }>(
				"SELECT number, json FROM item_logs WHERE item = ? AND number < ? ORDER BY number DESC LIMIT ?",
				item,
				before ?? Number.MAX_SAFE_INTEGER,
				limit + 1,
			)
			.toArray();
		const shown = rows.slice(0, limit);
		return {
			logs: shown.map(({ json }) => JSON.parse(json)),
			next: rows.length > limit ? (shown.at(-1)?.number ?? null) : null,
		};
	}

	removeItem(item: string): void {
		this.#sql.exec("DELETE FROM item_logs WHERE item = ?", item);
	}

	job(id: string): SearchJob | undefined {
		const [row] = this.#sql.exec<{ json: string }>("SELECT json FROM jobs WHERE id = ?", id).toArray();
		return row && JSON.parse(row.json);
	}

	/** The newest one first. */
	jobs(limit: number, offset: number): Page<SearchJob> {
		const values = this.#sql
			.exec<{ json: string }>("SELECT json FROM jobs ORDER BY number DESC LIMIT ? OFFSET ?", limit, offset)
			.toArray()
			.map(({ json }) => JSON.parse(json) as SearchJob);
		const { total } = this.#sql.exec<{ total: number }>("SELECT count(*) AS total FROM jobs").one();
		return { values, total };
	}

	putJob(job: SearchJob): void {
		this.#sql.exec(
			"INSERT INTO jobs (id, json) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET json = excluded.json",
			job.id,
			JSON.stringify(job),
		);
		for (const { id } of this.#sql
			.exec<{ id: string }>("SELECT id FROM jobs ORDER BY number DESC LIMIT -1 OFFSET ?", MAX_JOBS)
			.toArray()) {
			this.#sql.exec("DELETE FROM job_logs WHERE job = ?", id);
			this.#sql.exec("DELETE FROM jobs WHERE id = ?", id);
		}
	}

	addJobLog(job: string, { createdAt, message, type }: Omit<JobLog, "id">): void {
		this.#sql.exec(
			"INSERT INTO job_logs (job, message, type, created_at) VALUES (?, ?, ?, ?)",
			job,
			message,
			type,
			createdAt,
		);
	}

	jobLogs(job: string, limit: number, offset: number): Page<JobLog> {
		const values = this.#sql
			.exec<{ number: number; message: string; type: number; created_at: number }>(
				"SELECT * FROM job_logs WHERE job = ? ORDER BY number LIMIT ? OFFSET ?",
				job,
				limit,
				offset,
			)
			.toArray()
			.map(({ created_at: createdAt, message, number: id, type }) => ({ id, message, type, createdAt }));
		const { total } = this.#sql
			.exec<{ total: number }>("SELECT count(*) AS total FROM job_logs WHERE job = ?", job)
			.one();
		return { values, total };
	}
}
