/** Deletions of bytes that failed, and when the alarm repeats them. */

/** A row is written by a failure. It dies when the bytes are gone. `id`: of the file, batch or adapter that has the bytes. */
const FAILED = `CREATE TABLE IF NOT EXISTS failed_deletions (
	id TEXT PRIMARY KEY,
	failures INTEGER NOT NULL,
	next_at INTEGER NOT NULL
) WITHOUT ROWID`;

const FIRST_WAIT_MS = 60_000;
const MAX_WAIT_MS = 60 * 60_000;
/** The wait is the longest then. */
const MAX_FAILURES = 7;

/** A condition of SQL for ids whose deletion has not failed, or may be repeated. Its parameters: {@link waitingTimes}. */
export const IS_NOT_WAITING =
	"id NOT IN (SELECT id FROM failed_deletions WHERE next_at > ? AND next_at <= ?)";

/** A time after the longest wait is of a clock that was set back. */
export const waitingTimes = (now: number): [number, number] => [now, now + MAX_WAIT_MS];

interface FailedRow extends Record<string, SqlStorageValue> {
	id: string;
	next_at: number;
}

export class FailedDeletions {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(FAILED);
	}

	/** When each may be repeated. */
	times(now: number): ReadonlyMap<string, number> {
		const rows = this.#sql.exec<FailedRow>(
			"SELECT id, next_at FROM failed_deletions WHERE next_at <= ?",
			waitingTimes(now)[1],
		);
		return new Map(rows.toArray().map(({ id, next_at }) => [id, next_at]));
	}

	/** Each failure doubles the wait, up to an hour. */
	add(id: string, now: number): void {
		const { failures } = this.#sql
			.exec<{ failures: number }>(
				`INSERT INTO failed_deletions VALUES (?, 1, 0)
				ON CONFLICT (id) DO UPDATE SET failures = min(failures + 1, ?) RETURNING failures`,
				...[id, MAX_FAILURES],
			)
			.one();
		const wait = Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), MAX_WAIT_MS);
		this.#sql.exec("UPDATE failed_deletions SET next_at = ? WHERE id = ?", now + wait, id);
	}

	delete(id: string): void {
		this.#sql.exec("DELETE FROM failed_deletions WHERE id = ?", id);
	}

	/** A request may have deleted the bytes while the alarm failed to. */
	deleteForgotten(): void {
		this.#sql.exec(
			`DELETE FROM failed_deletions WHERE id NOT IN
			(SELECT id FROM files UNION ALL SELECT id FROM batches UNION ALL SELECT id FROM deleted_adapters)`,
		);
	}
}
