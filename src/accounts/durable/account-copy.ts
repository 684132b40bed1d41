/**
 * The rows of one account as pages, to move them to another object. It reads and writes all tables that have the column `account`, so a
 * new table moves without a change here.
 */
import type { AccountRows } from "./row-table.ts";

/** Characters of a page, as JSON. A larger row is a page of its own. */
const PAGE_CHARACTERS = 1_000_000;

export interface RowsPage {
	table: string;
	columns: string[];
	rows: SqlStorageValue[][];
	/** Rows of the table before those of the next page. Absent: the table has no further ones. */
	next?: number;
}

export class AccountCopy {
	/** Its number in the object. */
	readonly account: number;
	readonly #sql: SqlStorage;

	constructor({ sql, account }: Pick<AccountRows, "sql" | "account">) {
		this.#sql = sql;
		this.account = account;
	}

	tables(): string[] {
		return this.#sql
			.exec<{ name: string }>(
				"SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY name",
			)
			.toArray()
			.map(({ name }) => name)
			.filter((name) => this.#columnsOf(name).includes("account"));
	}

	/** The rows must not change between two pages. */
	page(table: string, offset: number): RowsPage {
		const cursor = this.#sql.exec(
			`SELECT * FROM ${this.#known(table)} WHERE account = ? ORDER BY ${this.#keyOf(table)} LIMIT -1 OFFSET ?`,
			this.account,
			offset,
		);
		const account = cursor.columnNames.indexOf("account");
		const rows: SqlStorageValue[][] = [];
		let characters = 0;
		let next: number | undefined;
		for (const row of cursor.raw<SqlStorageValue[]>()) {
			if (characters > PAGE_CHARACTERS) {
				next = offset + rows.length;
				break;
			}
			characters += JSON.stringify(row).length;
			rows.push(row.filter((_, index) => index !== account));
		}
		const columns = cursor.columnNames.filter((name) => name !== "account");
		return { table, columns, rows, ...(next !== undefined && { next }) };
	}

	add({ table, columns, rows }: RowsPage): void {
		const known = this.#columnsOf(this.#known(table));
		const unknown = columns.find((column) => !known.includes(column));
		if (unknown !== undefined) throw new TypeError(`The table ${table} has no column ${unknown}`);
		const insert = `INSERT INTO ${table} (account, ${columns.join(", ")}) VALUES (?${", ?".repeat(columns.length)})`;
		for (const row of rows) this.#sql.exec(insert, this.account, ...row);
	}

	/** Returns the number of deleted rows. */
	clear(): number {
		let rows = 0;
		for (const table of this.tables()) {
			const count = `SELECT count(*) AS rows FROM ${table} WHERE account = ?`;
			rows += this.#sql.exec<{ rows: number }>(count, this.account).one().rows;
			this.#sql.exec(`DELETE FROM ${table} WHERE account = ?`, this.account);
		}
		return rows;
	}

	/** A name becomes part of a statement. */
	#known(table: string): string {
		if (this.tables().includes(table)) return table;
		throw new TypeError("There is no such table of accounts");
	}

	#columnsOf(table: string): string[] {
		return this.#sql.exec(`SELECT * FROM ${table} LIMIT 0`).columnNames;
	}

	/** The columns of the primary key, which has the account first. */
	#keyOf(table: string): string {
		return this.#sql
			.exec<{ name: string; pk: number }>(`PRAGMA table_info(${table})`)
			.toArray()
			.filter(({ pk }) => pk > 0)
			.sort((one, other) => one.pk - other.pk)
			.map(({ name }) => name)
			.join(", ");
	}
}
