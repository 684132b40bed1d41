/** The positions of deleted rows in a list: a client may delete what it has listed, and continue the list after the last of it. */
import { addColumns } from "./sql-columns.ts";

/** For so long after a deletion a list can be continued after the row. */
const KEPT_MS = 60 * 60_000;

/**
 * One table for each list. A row is written by a deletion. It dies at the first deletion an hour later. `id`: unique in the object. `seq`: the
 * position in the list. `owner`: of the row, empty if its list has one owner.
 */
const tableOf = (name: string): string => `CREATE TABLE IF NOT EXISTS ${name} (
	id TEXT PRIMARY KEY,
	seq INTEGER NOT NULL,
	deleted_at INTEGER NOT NULL,
	owner TEXT NOT NULL DEFAULT ''
)`;
const byTime = (name: string): string => `CREATE INDEX IF NOT EXISTS ${name}_by_time ON ${name} (deleted_at)`;

interface DeletedRow {
	id: string;
	seq: number;
	owner?: string;
}

/** Whose rows are found. */
interface Owners {
	all: boolean;
	owner: string;
}

export class DeletedPositions {
	readonly #sql: SqlStorage;
	readonly #table: string;

	/** @param list the name of the table of the list. */
	constructor(sql: SqlStorage, list: string) {
		this.#sql = sql;
		this.#table = `deleted_${list}`;
		sql.exec(`${tableOf(this.#table)}; ${byTime(this.#table)}`);
		addColumns(sql, this.#table, { owner: "TEXT NOT NULL DEFAULT ''" });
	}

	add({ id, seq, owner = "" }: DeletedRow, now: number): void {
		this.#sql.exec(`DELETE FROM ${this.#table} WHERE deleted_at <= ?`, now - KEPT_MS);
		this.#sql.exec(
			`INSERT OR REPLACE INTO ${this.#table} (id, seq, deleted_at, owner) VALUES (?, ?, ?, ?)`,
			...[id, seq, now, owner],
		);
	}

	/** A row of another owner is not found. */
	get(id: string, { all, owner }: Owners): number | undefined {
		const rows = this.#sql.exec<{ seq: number }>(
			`SELECT seq FROM ${this.#table} WHERE id = ? AND (? OR owner = ?)`,
			...[id, Number(all), owner],
		);
		return rows.toArray()[0]?.seq;
	}

	/** The last position. 0 without any. */
	last(): number {
		const [row] = this.#sql
			.exec<{ seq: number | null }>(`SELECT max(seq) AS seq FROM ${this.#table}`)
			.toArray();
		return row?.seq ?? 0;
	}
}
