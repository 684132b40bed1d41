/** The events of responses in the background that are streamed. */
import type { EventBatch } from "../records.ts";

/** One row for each streamed response. `kept_until`: 0 until the response ends. A row dies with its response, or at that time. */
const STREAMS = `CREATE TABLE IF NOT EXISTS streams (
	response TEXT PRIMARY KEY,
	kept_until INTEGER NOT NULL
) WITHOUT ROWID`;
/** Server-sent events, written while a response is streamed. A row has one event or several. They die with the row of `streams`. */
const EVENTS = `CREATE TABLE IF NOT EXISTS events (
	response TEXT NOT NULL,
	row INTEGER NOT NULL,
	first_sequence INTEGER NOT NULL,
	last_sequence INTEGER NOT NULL,
	content BLOB NOT NULL,
	PRIMARY KEY (response, row)
) WITHOUT ROWID`;

/** Events of a response that has ended can be replayed for this time. */
const EVENTS_KEPT_MS = 24 * 60 * 60_000;
const ROWS_AT_ONCE = 64;
/** Counted for a row, in addition to its content. */
const ROW_BYTES = 64;

export interface EventRow extends Record<string, SqlStorageValue> {
	row: number;
	content: ArrayBuffer;
}

/** The stored bytes of a batch. */
export const bytesOfBatch = ({ content }: EventBatch): number => content.length + ROW_BYTES;

export class EventTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(`${STREAMS}; ${EVENTS}`);
	}

	totalBytes(): number {
		const { bytes } = this.#sql
			.exec<{ bytes: number | null }>(`SELECT sum(length(content) + ${ROW_BYTES}) AS bytes FROM events`)
			.one();
		return bytes ?? 0;
	}

	/** The response has events. */
	open(response: string): void {
		this.#sql.exec("INSERT INTO streams VALUES (?, 0)", response);
	}

	isStream(response: string): boolean {
		return this.#sql.exec("SELECT 1 FROM streams WHERE response = ?", response).toArray().length > 0;
	}

	append(response: string, { first, last, content }: EventBatch): void {
		const { row } = this.#sql
			.exec<{ row: number }>(
				"SELECT coalesce(max(row), -1) + 1 AS row FROM events WHERE response = ?",
				response,
			)
			.one();
		this.#sql.exec("INSERT INTO events VALUES (?, ?, ?, ?, ?)", response, row, first, last, content);
	}

	/** The number after the last event. 0 without any. */
	nextSequence(response: string): number {
		return this.#sql
			.exec<{ next: number }>(
				"SELECT coalesce(max(last_sequence), -1) + 1 AS next FROM events WHERE response = ?",
				response,
			)
			.one().next;
	}

	/** The row that has the event `sequence`, or the last one before it. 0 without any. */
	rowOf(response: string, sequence: number): number {
		const found = this.#sql
			.exec<{ row: number }>(
				"SELECT row FROM events WHERE response = ? AND first_sequence <= ? ORDER BY row DESC LIMIT 1",
				response,
				sequence,
			)
			.toArray()[0];
		return found?.row ?? 0;
	}

	/** Some rows. */
	rowsFrom(response: string, row: number): EventRow[] {
		return this.#sql
			.exec<EventRow>(
				"SELECT row, content FROM events WHERE response = ? AND row >= ? ORDER BY row LIMIT ?",
				response,
				row,
				ROWS_AT_ONCE,
			)
			.toArray();
	}

	/** The response has ended. */
	end(response: string, now: number): void {
		this.#sql.exec("UPDATE streams SET kept_until = ? WHERE response = ?", now + EVENTS_KEPT_MS, response);
	}

	/** Deletes the events, which another run replaces. Returns the freed bytes. */
	clear(response: string): number {
		let freed = 0;
		for (const { bytes } of this.#sql.exec<{ bytes: number }>(
			`DELETE FROM events WHERE response = ? RETURNING length(content) + ${ROW_BYTES} AS bytes`,
			response,
		))
			freed += bytes;
		return freed;
	}

	/** Deletes the events for good. Returns the freed bytes. */
	delete(response: string): number {
		this.#sql.exec("DELETE FROM streams WHERE response = ?", response);
		return this.clear(response);
	}

	/** Returns the freed bytes. */
	deleteExpired(now: number): number {
		const expired = this.#sql
			.exec<{ response: string }>(
				"SELECT response FROM streams WHERE kept_until > 0 AND kept_until <= ?",
				now,
			)
			.toArray();
		return expired.reduce((freed, { response }) => freed + this.delete(response), 0);
	}

	nextExpiry(): number | undefined {
		const { first } = this.#sql
			.exec<{ first: number | null }>("SELECT min(kept_until) AS first FROM streams WHERE kept_until > 0")
			.one();
		return first ?? undefined;
	}
}
