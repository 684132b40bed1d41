/** Reports and deletion of rows, for the tables of sums by UTC day. */
import { DAY_MS, startOfDay, utcDay } from "../clock.ts";

const KEPT_DAYS = 400;
/** Rows of one report. Later rows are left out. */
const MAX_ROWS = 10_000;

/** A table with the column `day`. Its names become part of SQL statements, so they must be constants. */
export interface DailyTable<Dimension extends string> {
	name: string;
	/** The SQL expressions that sum its counts. */
	sums: string;
	dimensions: readonly Dimension[];
}

/** Days are `2026-11-21`, both ends included. */
export interface DailyQuery<Dimension extends string> {
	from: string | undefined;
	to: string | undefined;
	/** Filters by column; `undefined` accepts every value. */
	where: Partial<Record<Dimension, string | undefined>>;
	/** Dimensions of the rows; without any there is a single row. */
	by: readonly Dimension[];
}

export function sumDays<Dimension extends string, Counts extends object>(
	sql: SqlStorage,
	{ name, sums, dimensions }: DailyTable<Dimension>,
	{ from, to, where, by }: DailyQuery<Dimension>,
): { rows: (Counts & Partial<Record<Dimension, SqlStorageValue>>)[]; total: Counts; truncated: boolean } {
	type Row = Counts & Record<Dimension, SqlStorageValue>;
	const conditions = ["true"];
	const values: string[] = [];
	const add = (condition: string, value: string | undefined): void => {
		if (value === undefined) return;
		conditions.push(condition);
		values.push(value);
	};
	add("day >= ?", from);
	add("day <= ?", to);
	for (const dimension of dimensions) add(`${dimension} = ?`, where[dimension]);
	const source = `FROM ${name} WHERE ${conditions.join(" AND ")}`;
	const total = sql
		.exec<Counts & Record<string, SqlStorageValue>>(`SELECT ${sums} ${source}`, ...values)
		.one();
	const columns = dimensions.filter((dimension) => by.includes(dimension));
	if (columns.length === 0) return { rows: [total], total, truncated: false };
	const list = columns.join(", ");
	const rows = sql
		.exec<Row & Record<string, SqlStorageValue>>(
			`SELECT ${list}, ${sums} ${source} GROUP BY ${list} ORDER BY ${list} LIMIT ?`,
			...values,
			MAX_ROWS + 1,
		)
		.toArray();
	return { rows: rows.slice(0, MAX_ROWS), total, truncated: rows.length > MAX_ROWS };
}

/** Deletes the rows of days that are no longer kept. */
export function deleteOldDays(sql: SqlStorage, table: string, now: number): void {
	sql.exec(`DELETE FROM ${table} WHERE day < ?`, utcDay(now - KEPT_DAYS * DAY_MS));
}

/** When the rows of the oldest day may be deleted. */
export function nextDayExpiry(sql: SqlStorage, table: string): number | undefined {
	const { day } = sql.exec<{ day: string | null }>(`SELECT min(day) AS day FROM ${table}`).one();
	return day === null ? undefined : startOfDay(day) + (KEPT_DAYS + 1) * DAY_MS;
}
