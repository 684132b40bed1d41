/** The places of deleted rows in a list: a client may delete what it has listed, and continue the list after the last of it. */

/** A list can be continued after a row so long after its deletion. */
const KEPT_MS = 60 * 60_000;

/** One table for each list. A row is written by a deletion. It dies at the first deletion an hour later. `seq`: its place in the list. */
export class DeletedPositions {
	readonly #sql: SqlStorage;
	readonly #table: string;

	/** @param list the table with the rows, which have `seq` and `id`. */
	constructor(sql: SqlStorage, list: string) {
		this.#sql = sql;
		this.#table = `deleted_${list}`;
		sql.exec(
			`CREATE TABLE IF NOT EXISTS ${this.#table} (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, deleted_at INTEGER NOT NULL)`,
		);
	}

	add(id: string, seq: number, now: number): void {
		this.#sql.exec(`DELETE FROM ${this.#table} WHERE deleted_at <= ?`, now - KEPT_MS);
		this.#sql.exec(`INSERT OR REPLACE INTO ${this.#table} VALUES (?, ?, ?)`, id, seq, now);
	}

	get(id: string): number | undefined {
		const rows = this.#sql.exec<{ seq: number }>(`SELECT seq FROM ${this.#table} WHERE id = ?`, id).toArray();
		return rows[0]?.seq;
	}
}
