/** The tables of a gateway's logs. */
import { Buffer } from "node:buffer";
import { addColumns } from "../../core/sql-columns.ts";
import { type LogBatch, metadataFields } from "../logs/log-batch.ts";
import { COLUMN_NAMES, COLUMNS } from "../logs/log-columns.ts";
import { idPrefix, type LogPayloads, type LogRow, timeOfId } from "../logs/log-row.ts";
import { type LogQuery, selectionOf } from "../logs/query.ts";
import { ComparisonTable } from "./comparison-table.ts";
import { ROWS_OF_JSON, valuesOf } from "./json-rows.ts";
import { type ObjectKey, PayloadTable } from "./payload-table.ts";

const LISTED = COLUMN_NAMES.map((name) => `logs.${name}`).join(", ");

/**
 * `logs`: a row for each request, written once by {@link LogTable.insert}; only feedback, score and metadata change. The retention
 * deletes it, the oldest first. Each index ends with the id, and so has the order of time for equal values.
 */
const TABLES = [
	`CREATE TABLE IF NOT EXISTS logs (${COLUMN_NAMES.map((name) => `${name} ${COLUMNS[name]}`).join(", ")}) WITHOUT ROWID`,
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

const INSERT_LOGS = `INSERT OR IGNORE INTO logs (${COLUMN_NAMES.join(", ")})
	SELECT ${valuesOf(COLUMN_NAMES.length)} FROM json_rows RETURNING id`;

/** `limit`: a clause, or none. Its number is text, because SQLite compiles a statement again for each value that is bound to a limit. */
const insertRows = (limit: string): string => `${ROWS_OF_JSON}${limit}) ${INSERT_LOGS}`;

/** Of the groups of a batch. A condition for `log.value` may follow. */
const INSERT_METADATA = `${ROWS_OF_JSON}) INSERT OR IGNORE INTO log_metadata SELECT log.value, field.key, field.value
	FROM json_rows CROSS JOIN json_each(columns, '$[0]') AS log CROSS JOIN json_each(columns, '$[1]') AS field`;

const REPLAYABLE = "SELECT logs.id AS id";
/** Of a large text the row has only the first part. Its object has all, unless the text was cut. The task of a passed request is unknown. */
const HAS_TEXTS = `(logs.model_type IS NULL OR logs.model_type = 'Text Generation') AND NOT EXISTS (
	SELECT 1 FROM (VALUES ('request'), ('response')) AS needed WHERE NOT EXISTS (
		SELECT 1 FROM payloads WHERE log = logs.id AND part = needed.column1 AND complete = 1
	) AND NOT EXISTS (
		SELECT 1 FROM payload_objects WHERE log = logs.id AND part = needed.column1 AND complete = 1
	)
)`;

/** Part of the rows that one step deletes at least, until the bytes are few enough. */
const LEAST_PART = 0.01;
/** The most rows that one statement deletes. The retention deletes as many at once, so that it does not block requests for long. */
const DELETED_AT_ONCE = 10_000;

export interface LogPage {
	rows: LogRow[];
	/** Of all pages. Absent for a query with filters, unless the query requests the total. */
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
	readonly comparisons: ComparisonTable;
	readonly #sql: SqlStorage;

	/** `objectKey`: the key of a large payload in the bucket. Absent: no bucket. */
	constructor(sql: SqlStorage, objectKey?: ObjectKey) {
		this.#sql = sql;
		this.payloads = new PayloadTable(sql, objectKey);
		this.comparisons = new ComparisonTable(sql);
		for (const statement of TABLES) sql.exec(statement);
		addColumns(sql, "logs", COLUMNS);
	}

	get count(): number {
		return this.#sql.exec<{ logs: number }>("SELECT logs FROM log_count").one().logs;
	}

	/** Inserts up to `max` rows. A row with the id of an existing one is ignored. */
	insert({ ids, rows, metadata, payloads, large }: LogBatch, max = ids.length): void {
		const added: string[] = [];
		for (const text of rows)
			added.push(...this.#insertRows(text, max < ids.length ? ` LIMIT ${max - added.length}` : ""));
		this.#add(added.length);
		const isPart = added.length < ids.length;
		const selected = isPart ? [JSON.stringify(added)] : [];
		const ofAdded = (log: string): string =>
			isPart ? ` WHERE ${log} IN (SELECT value FROM json_each(?))` : "";
		for (const text of metadata) this.#sql.exec(INSERT_METADATA + ofAdded("log.value"), text, ...selected);
		const isAdded = new Set(added);
		this.payloads.insert(
			{ payloads, large: large.filter(({ log }) => isAdded.has(log)) },
			{ selection: ofAdded("columns ->> 0"), selected },
		);
	}

	/** One statement for many rows, because binding a value costs more than writing it. @returns the ids of the new rows. */
	#insertRows(text: string, limit: string): string[] {
		return this.#sql
			.exec<{ id: string }>(insertRows(limit), text)
			.toArray()
			.map(({ id }) => id);
	}

	get(id: string): LogRow | undefined {
		return this.#sql
			.exec<LogRow & Record<string, SqlStorageValue>>(`SELECT ${LISTED} FROM logs WHERE id = ?`, id)
			.toArray()[0];
	}

	/** The payloads of a log. Of an object, only the first part. */
	payloadsOf({ id, error, response_size }: LogRow): LogPayloads {
		if (!error) return this.payloads.of(id);
		return { response: { text: error, complete: Buffer.byteLength(error) === response_size } };
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

	/** The ids of logs of the query that have the complete texts of a request for a text and its answer, the first ones. */
	replayable(query: LogQuery, limit: number): string[] {
		const { sql, values } = selectionOf(query, { ordered: false });
		const { direction } = query;
		return this.#sql
			.exec<{ id: string }>(
				`${REPLAYABLE} ${sql} AND ${HAS_TEXTS} ORDER BY logs.id ${direction} LIMIT ?`,
				...values,
				limit,
			)
			.toArray()
			.map(({ id }) => id);
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
			for (const [key, value] of Object.entries(metadataFields(patch.metadata) ?? {}))
				this.#sql.exec("INSERT OR IGNORE INTO log_metadata VALUES (?, ?, ?)", id, key, value);
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

	/** Bytes of the database, without its free pages. */
	get bytes(): number {
		return this.#sql.databaseSize;
	}

	/** Deletes the oldest rows until the database has at most `max` bytes. */
	deleteDownTo(max: number): void {
		for (let { bytes, count } = this; bytes > max && count > 0; { bytes, count } = this) {
			const part = Math.max(LEAST_PART, (bytes - max) / bytes);
			const rows = Math.min(Math.ceil(count * part), DELETED_AT_ONCE);
			this.#delete("SELECT id FROM logs ORDER BY id LIMIT ?", rows);
		}
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
		this.comparisons.deleteOf(JSON.stringify(ids));
		this.#add(-ids.length);
		return ids.length;
	}

	#matching(query: LogQuery): number {
		const { sql, values } = selectionOf(query, { ordered: false });
		return this.#sql.exec<{ rows: number }>(`SELECT count(*) AS rows ${sql}`, ...values).one().rows;
	}

	#add(logs: number): void {
		if (logs !== 0) this.#sql.exec("UPDATE log_count SET logs = logs + ?", logs);
	}
}
