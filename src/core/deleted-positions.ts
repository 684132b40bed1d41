/** The positions of deleted rows in a list: a client may delete what it has listed, and continue the list after the last of it. */

/** For so long after a deletion a list can be continued after the row. */
const KEPT_MS = 60 * 60_000;

/**
 * One table for each list. A row is written by a deletion. It dies at the first deletion an hour later. `id`: unique in the object. `seq`: the
 * position in the list.
 */
const tableOf = (name: string): string => `CREATE TABLE IF NOT EXISTS ${name} (
	id TEXT PRIMARY KEY,
	seq INTEGER NOT NULL,
	deleted_at INTEGER NOT NULL
)`;
const byTime = (name: string): string => `CREATE INDEX IF NOT EXISTS ${name}_by_time ON ${name} (deleted_at)`;

export class DeletedPositions {
	readonly #sql: SqlStorage;
	readonly #table: string;

	/** @param list the name of the table of the list. */
	constructor(sql: SqlStorage, list: string) {
		this.#sql = sql;
		this.#table = `deleted_${list}`;
		sql.exec(`${tableOf(this.#table)}; ${byTime(this.#table)}`);
	}

	add(id: string, seq: number, now: number): void {
		this.#sql.exec(`DELETE FROM ${this.#table} WHERE deleted_at <= ?`, now - KEPT_MS);
		this.#sql.exec(`INSERT OR REPLACE INTO ${this.#table} VALUES (?, ?, ?)`, id, seq, now);
	}

	get(id: string): number | undefined {
		const rows = this.#sql.exec<{ seq: number }>(`SELECT seq FROM ${this.#table} WHERE id = ?`, id).toArray();
		return rows[0]?.seq;
	}

	/** The last position. 0 without any. */
	last(): number {
		const [row] = this.#sql
			.exec<{ seq: number | null }>(`SELECT max(seq) AS seq FROM ${this.#table}`)
			.toArray();
		return row?.seq ?? 0;
	}
}
