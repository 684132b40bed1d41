/**
 * The settled requests of an account, in segments: one row for each batch of settlements, with its requests in one JSON text.
 * Binding a value and writing a row cost more than the text.
 */
import { jsonArrays } from "../../core/json-arrays.ts";
import { present } from "../../core/present.ts";
import { DAY_MS } from "../clock.ts";
import { type LedgerRow, OPEN_COLUMNS, SETTLED_COLUMNS } from "./request-rows.ts";
import { RowTable } from "./row-table.ts";
import { WINDOW_MS } from "./windows.ts";

/** A request in a segment. Nothing needs its expiry any more. */
export type SettledRow = Omit<LedgerRow, "expiresAt"> & { settledAt: number };

/** Positions of the values in the JSON array of a request. New fields follow at the end. */
const FIELDS = [...Object.keys(OPEN_COLUMNS), ...Object.keys(SETTLED_COLUMNS)].filter(
	(field) => field !== "id" && field !== "expiresAt",
) as Exclude<keyof SettledRow, "id">[];

/** About 300 KB. Requests with long names of models are in smaller segments. */
const MAX_REQUESTS = 1_000;
const KEPT_REQUESTS = 10_000;
export const KEPT_MS = 7 * DAY_MS;
/** The most segments that one alarm deletes, so that it does not block admissions for long. */
const DELETED_AT_ONCE = 10_000;

type Segment = {
	/** Id of its last request. The ids of its requests are consecutive. */
	id: number;
	requests: number;
	/** The latest time of any of its requests. */
	latestAt: number;
	/** A JSON array of requests. */
	text: string;
};

const COLUMNS = {
	id: "INTEGER",
	requests: "INTEGER NOT NULL",
	latestAt: "INTEGER NOT NULL",
	text: "TEXT NOT NULL",
} satisfies Record<keyof Segment, string>;

export class Segments {
	readonly #sql: SqlStorage;
	/** Written by each batch of settlements, and never changed. Deleted by the alarm: {@link Segments.deleteExpired}. */
	readonly #table: RowTable<Segment>;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		this.#table = new RowTable<Segment>({
			sql,
			name: "segments",
			columns: COLUMNS,
			key: ["id"],
			rowIds: true,
		});
	}

	/** Id of the latest request; 0 without any. */
	lastId(): number {
		return this.#sql.exec<{ id: number | null }>("SELECT max(id) AS id FROM segments").one().id ?? 0;
	}

	/** The ids of the rows are consecutive, and greater than all before. */
	add(rows: readonly SettledRow[]): void {
		let start = 0;
		const values = rows.map((row) => FIELDS.map((field) => row[field]));
		for (const { text, count } of jsonArrays(values, MAX_REQUESTS)) {
			const part = rows.slice(start, start + count);
			start += count;
			const times = part.flatMap(({ admittedAt, settledAt }) => [admittedAt, settledAt]);
			this.#table.write({ id: part.at(-1)?.id ?? 0, requests: count, latestAt: Math.max(...times), text });
		}
	}

	/** Latest first. Reads a segment when the iteration reaches it. */
	*before(id: number): Iterable<SettledRow> {
		const newest = this.#sql.exec<Segment>(
			`SELECT id, requests, latest_at AS "latestAt", text FROM segments
			WHERE id - requests + 1 < ? ORDER BY id DESC`,
			id,
		);
		for (const segment of newest) for (const row of rowsOf(segment).reverse()) if (row.id < id) yield row;
	}

	/** Requests of segments that may contain one of the last minute. */
	lastMinute(now: number): SettledRow[] {
		return this.#table.select("WHERE latest_at > ?", now - WINDOW_MS).flatMap(rowsOf);
	}

	/** The latest time of any request; 0 without any. */
	latest(): number {
		const row = this.#sql
			.exec<{ latest: number | null }>("SELECT max(latest_at) AS latest FROM segments")
			.one();
		return row.latest ?? 0;
	}

	/**
	 * Deletes the segments of more than seven days ago, and those with 10,000 newer requests, except those of the last minute. Returns
	 * whether there may be further ones. Reads no newer segments, because the alarm may be frequent.
	 */
	deleteExpired(now: number, lastId: number): boolean {
		const { rowsWritten } = this.#sql.exec(
			`DELETE FROM segments WHERE id IN (
				SELECT id FROM segments
				WHERE id < max(?1 + 1, coalesce((SELECT id FROM segments WHERE latest_at > ?3 ORDER BY id LIMIT 1), ?5))
					AND (id <= ?1 AND latest_at <= ?2 OR latest_at <= ?3)
				ORDER BY id LIMIT ?4
			)`,
			lastId - KEPT_REQUESTS,
			now - WINDOW_MS,
			now - KEPT_MS,
			DELETED_AT_ONCE,
			lastId + 1,
		);
		return rowsWritten >= DELETED_AT_ONCE;
	}

	/** When the oldest segment reaches its age limit. */
	nextExpiry(): number | undefined {
		const [oldest] = this.#sql
			.exec<{ latest_at: number }>("SELECT latest_at FROM segments ORDER BY id LIMIT 1")
			.toArray();
		return oldest && oldest.latest_at + KEPT_MS;
	}
}

function rowsOf({ id, requests, text }: Segment): SettledRow[] {
	const values: unknown[][] = JSON.parse(text);
	return values.map((row, index) => {
		const fields = Object.fromEntries(FIELDS.map((field, position) => [field, row[position]]));
		// The array was written from a row.
		return { id: id - requests + 1 + index, ...present(fields) } as SettledRow;
	});
}
