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

/** The place of an account's rows: an object has the rows of many accounts in the same tables. */
export interface AccountRows {
	sql: SqlStorage;
	/** The number of the account in this object. Every statement has it. */
	account: number;
	/** The tables that exist, by name, with their statements. One map for all accounts of the object. */
	tables: Map<string, TableStatements>;
}

interface TableStatements {
	name: string;
	fields: readonly string[];
	/** The columns of a row, by the names of its fields. */
	selected: string;
	upsert: string;
	insert: string;
}

/** The transaction is that of the object, for all its accounts. */
export interface AccountStorage extends AccountRows {
	transactionSync<T>(change: () => T): T;
}

/** The names become part of SQL statements, so they must be constants. */
interface TableLayout<Field extends string> {
	rows: AccountRows;
	name: string;
	/** The declaration of each column in SQL, in the order of the columns. */
	columns: Readonly<Record<Field, string>>;
	/** The fields of the primary key, after the account. Empty: one row at most for each account. */
	key: readonly Field[];
	/** The fields that {@link RowTable.insertAll} writes. All fields, if absent. */
	inserted?: readonly Field[];
	/** Fields whose values are added to those of an existing row. */
	summed?: readonly Field[];
	/** For large rows, or rows in the order of their insertion: SQLite numbers them, and the primary key is an index beside the table. */
	rowIds?: true;
}

export interface TableOptions {
	/** The account has no rows yet, so nothing is read when its tables are opened. */
	isNew?: boolean;
}

/** Which rows, in which order. All texts are constants of the code. */
interface Clause {
	/** A condition beside that of the account. */
	where?: string;
	group?: string;
	order?: string;
	limit?: number;
}

/** Tables of a version with one object for each account have no column `account`. */
const FIRST_ACCOUNT = 1;

/**
 * The rows of one account in a table. All statements about rows of accounts are made here, so none can miss the account
 * (`test/accounts/durable/statements.test.ts`).
 */
export class RowTable<Row extends { [Field in keyof Row]: SqlStorageValue | undefined }> {
	/** Each open account has ten tables, so a table has only what is its own. */
	readonly #rows: AccountRows;
	readonly #statements: TableStatements;

	/** Creates the table if it does not exist, and changes a table of an earlier version. */
	constructor(layout: TableLayout<keyof Row & string>) {
		const { rows, name } = layout;
		this.#rows = rows;
		const known = rows.tables.get(name);
		if (!known) makeTable(layout);
		this.#statements = known ?? statementsOf(layout);
		if (!known) rows.tables.set(name, this.#statements);
	}

	/** Fields that are NULL are absent. */
	select(clause: Clause = {}, ...values: SqlStorageValue[]): Row[] {
		return [...this.each(clause, ...values)];
	}

	/** As {@link select}. Reads a row when the iteration reaches it. */
	*each(clause: Clause = {}, ...values: SqlStorageValue[]): Iterable<Row> {
		for (const row of this.#read(this.#statements.selected, clause, values)) yield present(row) as Row;
	}

	/** `expressions`: constant SQL, such as `max(id) AS last`. */
	read<Result extends Record<string, SqlStorageValue>>(
		expressions: string,
		clause: Clause = {},
		...values: SqlStorageValue[]
	): Result[] {
		return this.#read(expressions, clause, values).toArray() as Result[];
	}

	/** As {@link read}, for expressions that have one row. */
	readOne<Result extends Record<string, SqlStorageValue>>(
		expressions: string,
		clause: Clause = {},
		...values: SqlStorageValue[]
	): Result {
		return this.#read(expressions, clause, values).one() as Result;
	}

	/** Adds the row, or changes the one with the same key. */
	write(row: Row): void {
		const { account, sql } = this.#rows;
		const values: SqlStorageValue[] = [account];
		for (const field of this.#statements.fields) values.push(row[field as keyof Row] ?? null);
		sql.exec(this.#statements.upsert, ...values);
	}

	/** Adds rows. `text`: a JSON array of the rows' values, because binding a value costs more than writing it. */
	insertAll(text: string): void {
		this.#rows.sql.exec(this.#statements.insert, this.#rows.account, text);
	}

	/** Subtracts from a field of the rows. */
	subtract(field: keyof Row & string, amount: number, where: string, ...values: SqlStorageValue[]): void {
		const column = columnOf(field);
		this.#rows.sql.exec(
			`UPDATE ${this.#statements.name} SET ${column} = ${column} - ? WHERE account = ? AND (${where})`,
			amount,
			this.#rows.account,
			...values,
		);
	}

	/** Sets a field of the rows. */
	set(field: keyof Row & string, value: SqlStorageValue, where: string, ...values: SqlStorageValue[]): void {
		this.#rows.sql.exec(
			`UPDATE ${this.#statements.name} SET ${columnOf(field)} = ? WHERE account = ? AND (${where})`,
			value,
			this.#rows.account,
			...values,
		);
	}

	/** Returns the number of deleted rows, those of indexes included. */
	delete(where: string, ...values: SqlStorageValue[]): number {
		return this.#rows.sql.exec(
			`DELETE FROM ${this.#statements.name} WHERE account = ? AND (${where})`,
			this.#rows.account,
			...values,
		).rowsWritten;
	}

	#read(
		expressions: string,
		{ where = "true", group, order, limit }: Clause,
		values: readonly SqlStorageValue[],
	): SqlStorageCursor<Record<string, SqlStorageValue>> {
		const parts = [
			`SELECT ${expressions} FROM ${this.#statements.name} WHERE account = ? AND (${where})`,
			group === undefined ? "" : `GROUP BY ${group}`,
			order === undefined ? "" : `ORDER BY ${order}`,
			limit === undefined ? "" : "LIMIT ?",
		];
		return this.#rows.sql.exec(
			parts.join(" "),
			this.#rows.account,
			...values,
			...(limit === undefined ? [] : [limit]),
		);
	}
}

function statementsOf<Field extends string>({
	name,
	columns,
	key,
	summed = [],
	inserted,
}: TableLayout<Field>): TableStatements {
	const fields = Object.keys(columns) as Field[];
	const written = inserted ?? fields;
	const changed = fields.filter((field) => !key.includes(field));
	const changes = changed.map((field) => {
		const column = columnOf(field);
		return `${column} = ${summed.includes(field) ? `${column} + ` : ""}excluded.${column}`;
	});
	return {
		...{ name, fields },
		selected: fields.map((field) => `${columnOf(field)} AS "${field}"`).join(", "),
		upsert: `INSERT INTO ${name} (${columnsOf(["account", ...fields])})
			VALUES (?, ${fields.map(() => "?").join(", ")})
			ON CONFLICT (${columnsOf(["account", ...key])}) DO UPDATE SET ${changes.join(", ")}`,
		insert: `INSERT INTO ${name} (${columnsOf(["account", ...written])})
			SELECT ?, ${written.map((_, index) => `value ->> ${index}`).join(", ")} FROM json_each(?)`,
	};
}

function makeTable<Field extends string>({
	rows: { sql },
	name,
	columns,
	key,
	rowIds,
}: TableLayout<Field>): void {
	const fields = Object.keys(columns) as Field[];
	const declared = Object.fromEntries(fields.map((field) => [columnOf(field), columns[field]]));
	const declarations = [
		"account INTEGER NOT NULL",
		...Object.entries(declared).map(([column, declaration]) => `${column} ${declaration}`),
		`PRIMARY KEY (${columnsOf(["account", ...key])})`,
	];
	const create = `CREATE TABLE IF NOT EXISTS ${name} (${declarations.join(", ")}) ${rowIds ? "" : "WITHOUT ROWID"}`;
	if (sql.exec(create).rowsWritten > 0) return;
	// It existed.
	const { columnNames } = sql.exec(`SELECT * FROM ${name} LIMIT 0`);
	if (columnNames.includes("account")) {
		addColumns(sql, name, declared);
		return;
	}
	const earlier = `${name}_of_one_account`;
	const common = columnNames.filter((column) => column in declared).join(", ");
	sql.exec(`ALTER TABLE ${name} RENAME TO ${earlier}`);
	sql.exec(create);
	const order = rowIds ? "ORDER BY rowid" : "";
	sql.exec(
		`INSERT INTO ${name} (account, ${common}) SELECT ?, ${common} FROM ${earlier} ${order}`,
		FIRST_ACCOUNT,
	);
	sql.exec(`DROP TABLE ${earlier}`);
}
