/** Deleted indexes whose vectors are not deleted yet. */
import type { VectorIndexRecord } from "../records.ts";

/** A row dies when the vectors are deleted. */
const DELETED = `CREATE TABLE IF NOT EXISTS deleted_indexes (
	object TEXT PRIMARY KEY,
	json TEXT NOT NULL,
	next_at INTEGER NOT NULL
) WITHOUT ROWID`;
const RETRY_MS = 30_000;
/** Indexes that one alarm empties. */
const INDEXES_AT_ONCE = 20;

export class DeletedTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(DELETED);
	}

	add(record: VectorIndexRecord, now: number): void {
		this.#sql.exec(
			"INSERT OR REPLACE INTO deleted_indexes VALUES (?, ?, ?)",
			record.object,
			JSON.stringify(record),
			now,
		);
	}

	get isEmpty(): boolean {
		return this.#sql.exec("SELECT 1 FROM deleted_indexes LIMIT 1").toArray().length === 0;
	}

	/** All are due at the time. */
	setDue(now: number): void {
		this.#sql.exec("UPDATE deleted_indexes SET next_at = ?", now);
	}

	/** Deletes the vectors of those that are due. Returns when the next one is. */
	async dropDue(
		now: number,
		drop: (record: VectorIndexRecord) => Promise<void>,
	): Promise<number | undefined> {
		const due = this.#sql
			.exec<{ json: string; object: string }>(
				"SELECT object, json FROM deleted_indexes WHERE next_at <= ? LIMIT ?",
				now,
				INDEXES_AT_ONCE,
			)
			.toArray();
		for (const { json, object } of due) {
			try {
				await drop(JSON.parse(json));
				this.#sql.exec("DELETE FROM deleted_indexes WHERE object = ?", object);
			} catch {
				this.#sql.exec("UPDATE deleted_indexes SET next_at = ? WHERE object = ?", now + RETRY_MS, object);
			}
		}
		const { next } = this.#sql
			.exec<{ next: number | null }>("SELECT min(next_at) AS next FROM deleted_indexes")
			.one();
		return next ?? undefined;
	}
}
