/**
 * The tables of the payloads in a gateway's log. With a bucket, a large payload is an object of it: its row has the first part of the text,
 * and a reference. {@link PayloadObjects} stores and deletes the objects.
 */
import type { LogBatch } from "../logs/log-batch.ts";
import type { LogPayloads, PayloadPart } from "../logs/log-row.ts";
import { HEAD_CHARACTERS } from "../logs/payload.ts";
import { ROWS_OF_JSON, valuesOf } from "./json-rows.ts";

const TABLES = [
	// Written and deleted with the log.
	`CREATE TABLE IF NOT EXISTS payloads (
		log TEXT NOT NULL, part TEXT NOT NULL, text TEXT NOT NULL, complete INTEGER NOT NULL, PRIMARY KEY (log, part)
	)`,
	// Objects of the bucket. Written with the log, deleted with it, or if the object cannot be stored.
	`CREATE TABLE IF NOT EXISTS payload_objects (
		log TEXT NOT NULL, part TEXT NOT NULL, key TEXT NOT NULL, complete INTEGER NOT NULL, PRIMARY KEY (log, part)
	) WITHOUT ROWID`,
	// Objects whose log was deleted. A row is deleted when the bucket has confirmed the deletion.
	"CREATE TABLE IF NOT EXISTS deleted_objects (key TEXT PRIMARY KEY) WITHOUT ROWID",
];

export type ObjectKey = (log: string, part: PayloadPart) => string;

interface PayloadReference {
	key: string;
	complete: boolean;
}

export class PayloadTable {
	readonly #sql: SqlStorage;
	readonly #objectKey: ObjectKey | undefined;

	/** `objectKey`: absent without a bucket. */
	constructor(sql: SqlStorage, objectKey?: ObjectKey) {
		this.#sql = sql;
		this.#objectKey = objectKey;
		for (const statement of TABLES) sql.exec(statement);
	}

	/** The logs of `large` are new. `selection`: the condition for new logs among the others. Empty: all are new. */
	insert(
		{ payloads, large }: Pick<LogBatch, "payloads" | "large">,
		{ selection, selected }: { selection: string; selected: readonly string[] },
	): void {
		for (const text of payloads)
			this.#sql.exec(
				`${ROWS_OF_JSON}) INSERT INTO payloads SELECT ${valuesOf(4)} FROM json_rows${selection}`,
				text,
				...selected,
			);
		for (const { log, part, payload } of large) {
			const { text } = payload;
			const complete = payload.complete ? 1 : 0;
			const key = this.#objectKey?.(log, part);
			if (key === undefined)
				this.#sql.exec("INSERT INTO payloads VALUES (?, ?, ?, ?)", log, part, text, complete);
			else {
				this.#sql.exec("INSERT INTO payload_objects VALUES (?, ?, ?, ?)", log, part, key, complete);
				const head = text.slice(0, HEAD_CHARACTERS);
				this.#sql.exec("INSERT INTO payloads VALUES (?, ?, ?, 0)", log, part, head);
			}
		}
	}

	/** The payloads of a log. Of an object, only the first part. */
	of(log: string): LogPayloads {
		const rows = this.#sql
			.exec<{ part: PayloadPart; text: string; complete: number }>(
				"SELECT part, text, complete FROM payloads WHERE log = ?",
				log,
			)
			.toArray();
		return Object.fromEntries(
			rows.map(({ part, text, complete }) => [part, { text, complete: complete === 1 }]),
		);
	}

	/** `undefined`: the payload is no object. */
	reference(log: string, part: PayloadPart): PayloadReference | undefined {
		const [row] = this.#sql
			.exec<{ key: string; complete: number }>(
				"SELECT key, complete FROM payload_objects WHERE log = ? AND part = ?",
				log,
				part,
			)
			.toArray();
		return row && { key: row.key, complete: row.complete === 1 };
	}

	/** The object is not stored. */
	dropReference(log: string, part: PayloadPart): void {
		this.#sql.exec("DELETE FROM payload_objects WHERE log = ? AND part = ?", log, part);
	}

	/** The object may be stored, and must not be. */
	deleteObject(log: string, part: PayloadPart, key: string): void {
		this.dropReference(log, part);
		this.#sql.exec("INSERT OR IGNORE INTO deleted_objects VALUES (?)", key);
	}

	/** Deletes the payloads of logs. Their objects are {@link deletedObjects} afterwards. */
	delete(logs: readonly string[]): void {
		const selected = "WHERE log IN (SELECT value FROM json_each(?))";
		const ids = JSON.stringify(logs);
		this.#sql.exec(`DELETE FROM payloads ${selected}`, ids);
		this.#sql.exec(`INSERT OR IGNORE INTO deleted_objects SELECT key FROM payload_objects ${selected}`, ids);
		this.#sql.exec(`DELETE FROM payload_objects ${selected}`, ids);
	}

	/** Keys of objects whose log was deleted. */
	deletedObjects(limit: number): string[] {
		return this.#sql
			.exec<{ key: string }>("SELECT key FROM deleted_objects LIMIT ?", limit)
			.toArray()
			.map(({ key }) => key);
	}

	/** The bucket has deleted the objects. */
	confirmDeleted(keys: readonly string[]): void {
		this.#sql.exec(
			"DELETE FROM deleted_objects WHERE key IN (SELECT value FROM json_each(?))",
			JSON.stringify(keys),
		);
	}
}
