/** What the tables of sums by day have in common: how they are reported, and that a day dies when it is old. */
import { DAY_MS, startOfDay, utcDay } from "../clock.ts";

const KEPT_DAYS = 400;
/** Rows of one report; of more, the first ones. */
const MAX_ROWS = 10_000;

/** A table with the column `day`. Its names are part of statements: never a caller's. */
export interface DailyTable<Dimension extends string> {
	name: string;
	/** The sums of its counts, as a statement selects them. */
	sums: string;
	dimensions: readonly Dimension[];
}

/** Days are `2026-11-21`, both ends included. */
export interface DailyQuery<Dimension extends string> {
	from: string | undefined;
	to: string | undefined;
	/** Values of columns; one that is `undefined` may be any. */
	where: Partial<Record<Dimension, string | undefined>>;
	/** Dimensions of the rows; none: a single row. */
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

/** Deletes the days that are dead. */
export function deleteOldDays(sql: SqlStorage, table: string, now: number): void {
	sql.exec(`DELETE FROM ${table} WHERE day < ?`, utcDay(now - KEPT_DAYS * DAY_MS));
}

/** When the oldest day dies. */
export function nextDayExpiry(sql: SqlStorage, table: string): number | undefined {
	const { day } = sql.exec<{ day: string | null }>(`SELECT min(day) AS day FROM ${table}`).one();
	return day === null ? undefined : startOfDay(day) + (KEPT_DAYS + 1) * DAY_MS;
}
