/** A table with one column for each field of its rows. The column of `admittedAt` is `admitted_at`. */
import { present } from "../../core/present.ts";
import { addColumns } from "../../core/sql-columns.ts";

export const columnOf = (field: string): string =>
	field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export const columnsOf = (fields: readonly string[]): string => fields.map(columnOf).join(", ");

/** The conditions whose value is not `undefined`, all of which must hold, and their values. */
export function conditionsOf(
	conditions: readonly (readonly [condition: string, value: string | number | undefined])[],
): { where: string; values: (string | number)[] } {
	const where = [
		"true",
		...conditions.flatMap(([condition, value]) => (value === undefined ? [] : condition)),
	];
	return { where: where.join(" AND "), values: conditions.flatMap(([, value]) => value ?? []) };
}

/** The names become part of SQL statements, so they must be constants. */
interface TableLayout<Field extends string> {
	sql: SqlStorage;
	name: string;
	/** The declaration of each column in SQL, in the order of the columns. */
	columns: Readonly<Record<Field, string>>;
	/** The fields of the primary key. */
	key: readonly Field[];
	/** Fields whose values are added to those of an existing row. */
	summed?: readonly Field[];
	/** Whether SQLite numbers the rows in the order of their insertion. */
	rowIds?: true;
}

export interface TableOptions {
	/** The account has no tables yet, so nothing is read when they are opened. */
	isNew?: boolean;
}

export class RowTable<Row extends { [Field in keyof Row]: SqlStorageValue | undefined }> {
	readonly #sql: SqlStorage;
	readonly #fields: readonly (keyof Row & string)[];
	readonly #select: string;
	readonly #upsert: string;

	/** Creates the table if it does not exist, and adds the columns that a table of an earlier version lacks. */
	constructor({ sql, name, columns, key, summed = [], rowIds }: TableLayout<keyof Row & string>) {
		this.#sql = sql;
		this.#fields = Object.keys(columns) as (keyof Row & string)[];
		const declared = Object.fromEntries(this.#fields.map((field) => [columnOf(field), columns[field]]));
		const declarations = Object.entries(declared).map(([column, declaration]) => `${column} ${declaration}`);
		const primaryKey = `PRIMARY KEY (${columnsOf(key)})`;
		const { rowsWritten } = sql.exec(
			`CREATE TABLE IF NOT EXISTS ${name} (${[...declarations, primaryKey].join(", ")}) ${rowIds ? "" : "WITHOUT ROWID"}`,
		);
		// It existed.
		if (rowsWritten === 0) addColumns(sql, name, declared);
		this.#select = `SELECT ${this.#fields.map((field) => `${columnOf(field)} AS "${field}"`).join(", ")} FROM ${name}`;
		const changed = this.#fields.filter((field) => !key.includes(field));
		const changes = changed.map((field) => {
			const column = columnOf(field);
			return `${column} = ${summed.includes(field) ? `${column} + ` : ""}excluded.${column}`;
		});
		this.#upsert = `INSERT INTO ${name} (${columnsOf(this.#fields)})
			VALUES (${this.#fields.map(() => "?").join(", ")})
			ON CONFLICT (${columnsOf(key)}) DO UPDATE SET ${changes.join(", ")}`;
	}

	/** `clause`: SQL after the name of the table. Fields that are NULL are absent. */
	select(clause = "", ...values: SqlStorageValue[]): Row[] {
		const rows = this.#sql.exec<Record<string, SqlStorageValue>>(`${this.#select} ${clause}`, ...values);
		return rows.toArray().map((row) => present(row) as Row);
	}

	/** Adds the row, or changes the one with the same key. */
	write(row: Row): void {
		this.#sql.exec(this.#upsert, ...this.#fields.map((field) => row[field] ?? null));
	}
}
