/** What the vector indexes of an account have used, by UTC day and index. */
import { DAY_MS, startOfDay, utcDay } from "../../../accounts/clock.ts";

/**
 * Written by reports of queries and of sizes. `stored`: dimensions after the last mutation of the day, `most`: the most of the day. The first row
 * of a day deletes those of 400 days before, except the last row of an index, which has its size.
 */
const DAYS = `CREATE TABLE IF NOT EXISTS days (
	name TEXT NOT NULL,
	day TEXT NOT NULL,
	queries INTEGER NOT NULL,
	queried INTEGER NOT NULL,
	stored INTEGER NOT NULL,
	most INTEGER NOT NULL,
	PRIMARY KEY (name, day)
) WITHOUT ROWID`;

/** The sums of all days. Written by reports of queries. The row dies with the account. */
const QUERIES = `CREATE TABLE IF NOT EXISTS queries (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	queries INTEGER NOT NULL,
	dimensions INTEGER NOT NULL
)`;
/** Reports of queries that are counted. A report that got no answer is sent again. A row dies after {@link REPORT_KEPT_MS}. */
const REPORTS = `CREATE TABLE IF NOT EXISTS query_reports (
	id TEXT PRIMARY KEY,
	counted_at INTEGER NOT NULL
) WITHOUT ROWID`;

const KEPT_DAYS = 400;
/** Longer than an isolate repeats a report. */
const REPORT_KEPT_MS = 10 * 60_000;
/** Rows of a report. Later rows are left out. */
const MAX_ROWS = 10_000;

/** Days are `2026-11-21`, both ends included. */
export interface VectorPeriod {
	from: string;
	to: string;
}

export interface VectorDay {
	day: string;
	/** The name of the index. */
	index: string;
	queries: number;
	queriedDimensions: number;
	/** The most of the day. */
	storedDimensions: number;
}

type DayRow = { name: string; day: string; queries: number; queried: number; stored: number; most: number };

/** Queries of an index on a UTC day. `dimensions`: the sum of those of their vectors. */
export interface QueryCount {
	index: string;
	day: string;
	queries: number;
	dimensions: number;
}

/** Queries that an isolate has answered. A report with an id that is known counts nothing. */
export interface QueryReport {
	id: string;
	counts: readonly QueryCount[];
}

export class DayTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(`${DAYS}; ${QUERIES}; ${REPORTS}`);
		sql.exec("INSERT OR IGNORE INTO queries VALUES (1, 0, 0)");
	}

	/** Once for each report. */
	count({ counts, id }: QueryReport, now: number): void {
		const { rowsWritten } = this.#sql.exec("INSERT OR IGNORE INTO query_reports VALUES (?, ?)", id, now);
		if (rowsWritten === 0) return;
		this.#sql.exec("DELETE FROM query_reports WHERE counted_at < ?", now - REPORT_KEPT_MS);
		for (const count of counts) this.#addQueries(count);
	}

	#addQueries({ day, dimensions, index, queries }: QueryCount): void {
		this.#requireRow(index, day);
		this.#sql.exec(
			"UPDATE days SET queries = queries + ?, queried = queried + ? WHERE name = ? AND day = ?",
			...[queries, dimensions, index, day],
		);
		this.#sql.exec(
			"UPDATE queries SET queries = queries + ?, dimensions = dimensions + ?",
			...[queries, dimensions],
		);
	}

	/** Of all days. */
	totals(): { queries: number; queriedDimensions: number } {
		return this.#sql
			.exec<{ queries: number; queriedDimensions: number }>(
				"SELECT queries, dimensions AS queriedDimensions FROM queries",
			)
			.one();
	}

	/** `dimensions` of all vectors of the index from now on. */
	setStored(name: string, day: string, dimensions: number): void {
		this.#requireRow(name, day);
		this.#sql.exec(
			"UPDATE days SET stored = ?1, most = max(most, ?1) WHERE name = ?2 AND day = ?3",
			...[dimensions, name, day],
		);
	}

	/** A new row begins with the size of the day before. */
	#requireRow(name: string, day: string): void {
		const { rowsWritten } = this.#sql.exec(
			`INSERT OR IGNORE INTO days SELECT ?1, ?2, 0, 0, coalesce(max(stored), 0), coalesce(max(stored), 0)
			FROM (SELECT stored FROM days WHERE name = ?1 AND day < ?2 ORDER BY day DESC LIMIT 1)`,
			...[name, day],
		);
		if (rowsWritten === 0) return;
		this.#sql.exec(
			"DELETE FROM days WHERE day < ? AND day < (SELECT max(day) FROM days AS later WHERE later.name = days.name)",
			utcDay(startOfDay(day) - KEPT_DAYS * DAY_MS),
		);
	}

	/** Sorted by day and name. Days on which an index had no vectors and no queries have no row. */
	report({ from, to }: VectorPeriod): { rows: VectorDay[]; truncated: boolean } {
		const before = this.#sql
			.exec<{ name: string; stored: number }>(
				"SELECT name, stored, max(day) FROM days WHERE day < ? GROUP BY name",
				from,
			)
			.toArray();
		const stored = new Map(before.map((row) => [row.name, row.stored]));
		const rows = this.#sql
			.exec<DayRow>("SELECT * FROM days WHERE day BETWEEN ? AND ? ORDER BY day, name", from, to)
			.toArray();
		const byDay = Map.groupBy(rows, ({ day }) => day);
		const days: VectorDay[] = [];
		for (let at = startOfDay(from); at <= startOfDay(to); at += DAY_MS) {
			const day = utcDay(at);
			const own = new Map((byDay.get(day) ?? []).map((row) => [row.name, row]));
			for (const name of [...new Set([...stored.keys(), ...own.keys()])].sort()) {
				const row = own.get(name);
				const { queries = 0, queried = 0, most = stored.get(name) ?? 0 } = row ?? {};
				if (row) stored.set(name, row.stored);
				if (queries === 0 && most === 0) continue;
				if (days.length === MAX_ROWS) return { rows: days, truncated: true };
				days.push({ day, index: name, queries, queriedDimensions: queried, storedDimensions: most });
			}
		}
		return { rows: days, truncated: false };
	}
}
