/** The tables of a gateway's logs. */
import { isRecord, parseJson } from "../../core/json.ts";
import { addColumns } from "../../core/sql-columns.ts";
import { idPrefix, type Log, type LogRow, timeOfId } from "../logs/log-row.ts";
import { type LogQuery, selectionOf } from "../logs/query.ts";
import { type ObjectKey, PayloadTable } from "./payload-table.ts";
import { batchesOf, valuesOf } from "./sql-batches.ts";

/** The declaration of each column. */
const COLUMNS: Readonly<Record<keyof LogRow, string>> = {
	id: "TEXT PRIMARY KEY",
	event_id: "TEXT",
	provider: "TEXT NOT NULL",
	model: "TEXT NOT NULL",
	model_type: "TEXT",
	path: "TEXT NOT NULL",
	duration: "INTEGER NOT NULL",
	first_byte: "INTEGER",
	request_type: "TEXT",
	request_content_type: "TEXT",
	response_content_type: "TEXT",
	status_code: "INTEGER NOT NULL",
	success: "INTEGER NOT NULL",
	cached: "INTEGER NOT NULL",
	tokens_in: "INTEGER",
	tokens_out: "INTEGER",
	cost: "REAL",
	custom_cost: "INTEGER NOT NULL",
	step: "INTEGER NOT NULL",
	metadata: "TEXT",
	request_size: "INTEGER",
	response_size: "INTEGER",
	user_agent: "TEXT",
	dlp_action: "TEXT",
	dlp: "TEXT",
	guardrails: "TEXT",
	byok: "INTEGER",
	authentication: "INTEGER NOT NULL",
	wholesale: "INTEGER NOT NULL",
	compatibility_mode: "INTEGER NOT NULL",
	feedback: "INTEGER",
	score: "REAL",
};
const NAMES = Object.keys(COLUMNS) as (keyof LogRow)[];
const LISTED = NAMES.map((name) => `logs.${name}`).join(", ");

/**
 * `logs`: a row for each request, written once by {@link LogTable.insert}; only feedback, score and metadata change. The retention deletes it, the oldest first.
 * Each index ends with the id, and so has the order of time for equal values.
 */
const TABLES = [
	`CREATE TABLE IF NOT EXISTS logs (${NAMES.map((name) => `${name} ${COLUMNS[name]}`).join(", ")}) WITHOUT ROWID`,
	...(["provider", "model", "success", "cached"] as const).map(
		(name) => `CREATE INDEX IF NOT EXISTS logs_${name} ON logs (${name})`,
	),
	...(["event_id", "feedback"] as const).map(
		(name) => `CREATE INDEX IF NOT EXISTS logs_${name} ON logs (${name}) WHERE ${name} IS NOT NULL`,
	),
	// Copies of `logs.metadata`, for filters.
	`CREATE TABLE IF NOT EXISTS log_metadata (
		log TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (log, key)
	) WITHOUT ROWID`,
	"CREATE INDEX IF NOT EXISTS log_metadata_key ON log_metadata (key, log)",
	"CREATE INDEX IF NOT EXISTS log_metadata_value ON log_metadata (value, log)",
	// The number of rows of `logs`: to count them reads them all.
	"CREATE TABLE IF NOT EXISTS log_count (id INTEGER PRIMARY KEY CHECK (id = 0), logs INTEGER NOT NULL)",
	"INSERT OR IGNORE INTO log_count VALUES (0, 0)",
];

/** A value of SQLite has 2 MB at most, and the metadata of a row `MAX_METADATA`. */
const INSERTED_AT_ONCE = 16;

/** The most rows that one statement deletes. The retention deletes as many at once, so that it does not block requests for long. */
const DELETED_AT_ONCE = 10_000;

export interface LogPage {
	rows: LogRow[];
	/** Of all pages. Absent for a query with filters, unless it asks for it. */
	total?: number;
}

export interface LogPageQuery extends LogQuery {
	offset: number;
	limit: number;
	/** Counts the rows of all pages, which reads them. */
	counted?: boolean | undefined;
}

export type LogPatch = Partial<Pick<LogRow, "feedback" | "score" | "metadata">>;

export class LogTable {
	readonly payloads: PayloadTable;
	readonly #sql: SqlStorage;

	/** `objectKey`: the key of a large payload in the bucket. Absent: no bucket. */
	constructor(sql: SqlStorage, objectKey?: ObjectKey) {
		this.#sql = sql;
		this.payloads = new PayloadTable(sql, objectKey);
		for (const statement of TABLES) sql.exec(statement);
		addColumns(sql, "logs", COLUMNS);
	}

	get count(): number {
		return this.#sql.exec<{ logs: number }>("SELECT logs FROM log_count").one().logs;
	}

	/** A row with the id of an existing one is ignored. */
	insert(logs: readonly Log[]): void {
		for (let start = 0; start < logs.length; start += INSERTED_AT_ONCE)
			this.#insert(logs.slice(start, start + INSERTED_AT_ONCE));
	}

	/** One statement for all rows, because binding a value costs more than writing it. */
	#insert(logs: readonly Log[]): void {
		const rows = logs.map(({ row }) => NAMES.map((name) => row[name]));
		const added = this.#sql
			.exec<{ id: string }>(
				`INSERT OR IGNORE INTO logs (${NAMES.join(", ")}) SELECT ${valuesOf(NAMES.length)} FROM json_each(?) RETURNING id`,
				JSON.stringify(rows),
			)
			.toArray();
		this.#add(added.length);
		this.#writeMetadata(logs.map(({ row }) => row));
		const ids = new Set(added.map(({ id }) => id));
		this.payloads.insert(logs.filter(({ row }) => ids.has(row.id)));
	}

	get(id: string): LogRow | undefined {
		return this.#sql
			.exec<LogRow & Record<string, SqlStorageValue>>(`SELECT ${LISTED} FROM logs WHERE id = ?`, id)
			.toArray()[0];
	}

	page(query: LogPageQuery): LogPage {
		const { sql, values } = selectionOf(query, { ordered: true });
		const rows = this.#sql
			.exec<LogRow & Record<string, SqlStorageValue>>(
				`SELECT ${LISTED} ${sql} LIMIT ? OFFSET ?`,
				...values,
				query.limit,
				query.offset,
			)
			.toArray();
		const isFiltered = query.filters.length > 0 || Boolean(query.search);
		if (isFiltered && !query.counted) return { rows };
		return { rows, total: isFiltered ? this.#matching(query) : this.count };
	}

	/** Returns whether the log exists. */
	patch(id: string, patch: LogPatch): boolean {
		if (!this.get(id)) return false;
		for (const name of ["feedback", "score", "metadata"] as const) {
			const value = patch[name];
			if (value !== undefined) this.#sql.exec(`UPDATE logs SET ${name} = ? WHERE id = ?`, value, id);
		}
		if (patch.metadata !== undefined) {
			this.#sql.exec("DELETE FROM log_metadata WHERE log = ?", id);
			this.#writeMetadata([{ id, metadata: patch.metadata }]);
		}
		return true;
	}

	/** Deletes the first rows of the query, or all of them. Returns their number. */
	delete({ limit = Number.POSITIVE_INFINITY, ...query }: LogQuery & { limit?: number | undefined }): number {
		const { sql, values } = selectionOf(query, { ordered: true });
		let deleted = 0;
		for (let last = Number.POSITIVE_INFINITY; deleted < limit && last > 0; deleted += last)
			last = this.#delete(
				`SELECT logs.id ${sql} LIMIT ?`,
				...values,
				Math.min(limit - deleted, DELETED_AT_ONCE),
			);
		return deleted;
	}

	/** Deletes the oldest rows beyond `max`, some of them if there are many. */
	deleteOldest(max: number): void {
		const excess = Math.min(this.count - max, DELETED_AT_ONCE);
		if (excess > 0) this.#delete("SELECT id FROM logs ORDER BY id LIMIT ?", excess);
	}

	/** Deletes the oldest rows before `time` (epoch milliseconds), some of them if there are many. */
	deleteBefore(time: number): void {
		this.#delete("SELECT id FROM logs WHERE id < ? ORDER BY id LIMIT ?", idPrefix(time), DELETED_AT_ONCE);
	}

	/** The time of the oldest row. */
	oldest(): number | undefined {
		const [row] = this.#sql.exec<{ id: string }>("SELECT id FROM logs ORDER BY id LIMIT 1").toArray();
		return row && timeOfId(row.id);
	}

	#delete(selection: string, ...values: (string | number)[]): number {
		const ids = this.#sql
			.exec<{ id: string }>(selection, ...values)
			.toArray()
			.map(({ id }) => id);
		for (const [table, column] of [
			["logs", "id"],
			["log_metadata", "log"],
		])
			this.#sql.exec(
				`DELETE FROM ${table} WHERE ${column} IN (SELECT value FROM json_each(?))`,
				JSON.stringify(ids),
			);
		this.payloads.delete(ids);
		this.#add(-ids.length);
		return ids.length;
	}

	#matching(query: LogQuery): number {
		const { sql, values } = selectionOf(query, { ordered: false });
		return this.#sql.exec<{ rows: number }>(`SELECT count(*) AS rows ${sql}`, ...values).one().rows;
	}

	#writeMetadata(rows: readonly Pick<LogRow, "id" | "metadata">[]): void {
		const values = rows.flatMap(({ id, metadata }) => {
			const fields = metadata === null ? undefined : parseJson(metadata);
			return isRecord(fields) ? Object.entries(fields).map(([key, value]) => [id, key, String(value)]) : [];
		});
		for (const batch of batchesOf(values, ([, , value = ""]) => value.length))
			this.#sql.exec(
				`INSERT OR IGNORE INTO log_metadata SELECT ${valuesOf(3)} FROM json_each(?)`,
				JSON.stringify(batch),
			);
	}

	#add(logs: number): void {
		if (logs !== 0) this.#sql.exec("UPDATE log_count SET logs = logs + ?", logs);
	}
}
