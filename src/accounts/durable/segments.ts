/**
 * The settled requests of an account, in segments: one row for each batch of settlements, with its requests in one JSON text.
 * Binding a value and writing a row cost more than the text.
 */
import { jsonArrays } from "../../core/json-arrays.ts";
import { present } from "../../core/present.ts";
import { DAY_MS } from "../clock.ts";
import { type LedgerRow, OPEN_COLUMNS, SETTLED_COLUMNS } from "./request-rows.ts";
import { type AccountRows, RowTable } from "./row-table.ts";
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

const IN_LIST = "id IN (SELECT value FROM json_each(?))";

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
	/** Written by each batch of settlements, and never changed. Deleted by the alarm: {@link Segments.deleteExpired}. */
	readonly #table: RowTable<Segment>;

	constructor(rows: AccountRows) {
		this.#table = new RowTable<Segment>({
			rows,
			name: "segments",
			columns: COLUMNS,
			key: ["id"],
			rowIds: true,
		});
	}

	/** Id of the latest request; 0 without any. */
	lastId(): number {
		return this.#table.readOne<{ id: number | null }>("max(id) AS id").id ?? 0;
	}

	/** The ids of the rows are consecutive, and greater than all before. */
	add(rows: readonly SettledRow[]): void {
		let start = 0;
		const values: unknown[][] = [];
		for (const row of rows) {
			const fields: unknown[] = [];
			for (const field of FIELDS) fields.push(row[field]);
			values.push(fields);
		}
		for (const { text, count } of jsonArrays(values, MAX_REQUESTS)) {
			const part = rows.slice(start, start + count);
			start += count;
			let latestAt = 0;
			for (const { admittedAt, settledAt } of part) latestAt = Math.max(latestAt, admittedAt, settledAt);
			this.#table.write({ id: part.at(-1)?.id ?? 0, requests: count, latestAt, text });
		}
	}

	/** Latest first. Reads a segment when the iteration reaches it. */
	*before(id: number): Iterable<SettledRow> {
		const newest = this.#table.each({ where: "id - requests + 1 < ?", order: "id DESC" }, id);
		for (const segment of newest) for (const row of rowsOf(segment).reverse()) if (row.id < id) yield row;
	}

	/** Requests of segments that may contain one of the last minute. */
	lastMinute(now: number): SettledRow[] {
		return this.#table.select({ where: "latest_at > ?" }, now - WINDOW_MS).flatMap(rowsOf);
	}

	/** The latest time of any request; 0 without any. */
	latest(): number {
		return this.#table.readOne<{ latest: number | null }>("max(latest_at) AS latest").latest ?? 0;
	}

	/**
	 * Deletes the segments of more than seven days ago, and those with 10,000 newer requests, except those of the last minute. Returns
	 * whether there may be further ones. Reads no newer segments, because the alarm may be frequent.
	 */
	deleteExpired(now: number, lastId: number): boolean {
		const lastUnkept = lastId - KEPT_REQUESTS;
		const [recent] = this.#table.read<{ id: number }>(
			"id",
			{ where: "latest_at > ?", order: "id", limit: 1 },
			now - KEPT_MS,
		);
		const end = Math.max(lastUnkept + 1, recent?.id ?? lastId + 1);
		const expired = this.#table.read<{ id: number }>(
			"id",
			{
				where: "id < ? AND (id <= ? AND latest_at <= ? OR latest_at <= ?)",
				...{ order: "id", limit: DELETED_AT_ONCE },
			},
			...[end, lastUnkept, now - WINDOW_MS, now - KEPT_MS],
		);
		if (expired.length > 0) this.#table.delete(IN_LIST, JSON.stringify(expired.map(({ id }) => id)));
		return expired.length === DELETED_AT_ONCE;
	}

	/** When the oldest segment reaches its age limit. */
	nextExpiry(): number | undefined {
		const [oldest] = this.#table.read<{ latestAt: number }>('latest_at AS "latestAt"', {
			order: "id",
			limit: 1,
		});
		return oldest && oldest.latestAt + KEPT_MS;
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
