/** The table of an account's requests: the open ones, and the recent settled ones. */
import type { Settlement } from "../admission.ts";
import { DAY_MS } from "../clock.ts";
import {
	OPEN_COLUMNS,
	type OpenRequest,
	type OpenRow,
	openRequest,
	openRow,
	type RequestRecord,
	type Row,
	rateKeys,
	requestRecord,
	SETTLED_COLUMNS,
} from "./request-rows.ts";
import { columnOf, columnsOf, conditionsOf, RowTable } from "./row-table.ts";
import { WINDOW_MS } from "./windows.ts";

/**
 * A row is written twice: by the admission of a request, without an outcome, and by its settlement. The alarm deletes a settled
 * row when there are 10,000 newer ones, or after 7 days, but not while a rate window may need it.
 *
 * The only index is the id: an index is a second write for each admission, and only the rebuild after a start reads by other
 * columns. Ids and times ascend together.
 */
const COLUMNS = { ...OPEN_COLUMNS, ...SETTLED_COLUMNS };
const OPEN_FIELDS = Object.keys(OPEN_COLUMNS) as (keyof OpenRow)[];
const SETTLED_FIELDS = Object.keys(SETTLED_COLUMNS) as (keyof typeof SETTLED_COLUMNS)[];

/** One statement for all rows, because binding a value costs more than writing it. */
const INSERT = `INSERT INTO requests (${columnsOf(OPEN_FIELDS)})
	SELECT ${OPEN_FIELDS.map((_, index) => `value ->> ${index}`).join(", ")} FROM json_each(?)`;
const SETTLE = `UPDATE requests
	SET ${SETTLED_FIELDS.map((field, index) => `${columnOf(field)} = value ->> ${index + 1}`).join(", ")}
	FROM json_each(?) WHERE requests.id = value ->> 0`;

const KEPT_REQUESTS = 10_000;
const KEPT_MS = 7 * DAY_MS;
/** The most rows that one alarm deletes, so that it does not block admissions for long. */
const DELETED_AT_ONCE = 10_000;

const DEFAULT_PAGE = 50;
const MAX_PAGE = 100;

export interface RequestsQuery {
	/** 1 to 100. Default: 50. */
	limit?: number;
	/** From the previous page. */
	cursor?: number;
	model?: string;
	task?: string;
	token?: string;
	outcome?: RequestRecord["outcome"];
}

/** Newest first. */
export interface RequestsPage {
	requests: RequestRecord[];
	/** For the next page; absent on the last. */
	cursor?: number;
}

export class Requests {
	readonly #sql: SqlStorage;
	readonly #table: RowTable<Row>;
	#nextId: number;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		this.#table = new RowTable<Row>({ sql, name: "requests", columns: COLUMNS, key: ["id"], rowIds: true });
		const { last } = sql.exec<{ last: number | null }>("SELECT max(id) AS last FROM requests").one();
		this.#nextId = (last ?? 0) + 1;
	}

	/** Assigns the next id. {@link insert} writes the row. */
	open(request: Omit<OpenRequest, "id">): OpenRequest {
		return { id: this.#nextId++, ...request };
	}

	insert(requests: readonly OpenRequest[]): void {
		const rows = requests.map((request) => {
			const row = openRow(request);
			return OPEN_FIELDS.map((field) => row[field]);
		});
		this.#sql.exec(INSERT, JSON.stringify(rows));
	}

	settle(settledAt: number, settled: readonly (readonly [Pick<OpenRequest, "id">, Settlement])[]): void {
		const rows = settled.map(([{ id }, settlement]) => {
			const row = { ...settlement, settledAt };
			return [id, ...SETTLED_FIELDS.map((field) => row[field])];
		});
		this.#sql.exec(SETTLE, JSON.stringify(rows));
	}

	/** Reduces the cost of a lease that was charged. */
	reduceCharge(id: number, microNeurons: number): void {
		this.#sql.exec("UPDATE requests SET micro_neurons = micro_neurons - ? WHERE id = ?", microNeurons, id);
	}

	/** In the order of admission. */
	openRequests(): OpenRequest[] {
		return this.#table.select("WHERE outcome IS NULL ORDER BY id").map(openRequest);
	}

	/** The admission times and rate keys of the last minute's requests, oldest first. */
	lastMinute(now: number): Pick<OpenRequest, "admittedAt" | "rateKeys">[] {
		return this.#sql
			.exec<{ admitted_at: number; rate_keys: string }>(
				"SELECT admitted_at, rate_keys FROM requests WHERE admitted_at > ? AND admitted_at <= ? ORDER BY admitted_at, id",
				now - WINDOW_MS,
				now,
			)
			.toArray()
			.map((row) => ({ admittedAt: row.admitted_at, rateKeys: rateKeys(row.rate_keys) }));
	}

	/** The latest time in any row; 0 without rows. */
	latest(): number {
		const row = this.#sql
			.exec<{ latest: number | null }>(
				"SELECT max(max(admitted_at), coalesce(max(settled_at), 0)) AS latest FROM requests",
			)
			.one();
		return row.latest ?? 0;
	}

	page({ limit = DEFAULT_PAGE, cursor, model, task, token, outcome }: RequestsQuery): RequestsPage {
		const size = Math.min(Math.max(1, Math.floor(limit)), MAX_PAGE);
		const { where, values } = conditionsOf([
			["id < ?", cursor],
			["model = ?", model],
			["task = ?", task],
			["token = ?", token],
			// Rows of earlier versions have `cut` and `left`.
			[
				"CASE outcome WHEN 'cut' THEN 'interrupted' WHEN 'left' THEN 'cancelled' ELSE coalesce(outcome, 'open') END = ?",
				outcome,
			],
		]);
		const rows = this.#table.select(`WHERE ${where} ORDER BY id DESC LIMIT ?`, ...values, size + 1);
		const last = rows.length > size ? rows[size - 1] : undefined;
		return {
			requests: rows.slice(0, size).map(requestRecord),
			...(last && { cursor: last.id }),
		};
	}

	/** Deletes old rows. Returns whether there may be further ones. Reads no newer rows, because the alarm may be frequent. */
	deleteExpired(now: number): boolean {
		const { rowsWritten } = this.#sql.exec(
			`DELETE FROM requests WHERE id IN (
				SELECT id FROM requests
				WHERE id < max(?1, coalesce((SELECT id FROM requests WHERE admitted_at > ?3 ORDER BY id LIMIT 1), ?5))
					AND outcome IS NOT NULL AND (id < ?1 AND admitted_at <= ?2 OR admitted_at <= ?3)
				ORDER BY id LIMIT ?4
			)`,
			this.#nextId - KEPT_REQUESTS,
			now - WINDOW_MS,
			now - KEPT_MS,
			DELETED_AT_ONCE,
			this.#nextId,
		);
		return rowsWritten >= DELETED_AT_ONCE;
	}

	/** When the oldest settled row reaches its age limit. */
	nextExpiry(): number | undefined {
		const [oldest] = this.#sql
			.exec<{ admitted_at: number }>(
				"SELECT admitted_at FROM requests WHERE outcome IS NOT NULL ORDER BY id LIMIT 1",
			)
			.toArray();
		return oldest && oldest.admitted_at + KEPT_MS;
	}
}
