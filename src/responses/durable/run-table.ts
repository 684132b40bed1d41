/** The responses in the background that have not ended, and the events of those that are streamed. */
import type { BackgroundRecord, EventBatch } from "../records.ts";
import type { LongTexts } from "./long-texts.ts";

/**
 * Written when the response is created, and at the start of each run. `ticket`: the request id of the last run; NULL before the first.
 * `first_sequence`: the number of its first event. A row dies when the response ends.
 */
const RUNS = `CREATE TABLE IF NOT EXISTS runs (
	response TEXT PRIMARY KEY,
	attempts INTEGER NOT NULL,
	ticket TEXT,
	first_sequence INTEGER NOT NULL,
	request TEXT NOT NULL
) WITHOUT ROWID`;
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

const textKey = (response: string): string => `runs/${response}`;

export interface EventRow extends Record<string, SqlStorageValue> {
	row: number;
	content: ArrayBuffer;
}

export class RunTable {
	readonly #sql: SqlStorage;
	readonly #texts: LongTexts;

	constructor(sql: SqlStorage, texts: LongTexts) {
		this.#sql = sql;
		this.#texts = texts;
		sql.exec(`${RUNS}; ${STREAMS}; ${EVENTS}`);
	}

	totals(): { bytes: number } {
		const { bytes } = this.#sql
			.exec<{ bytes: number | null }>(
				`SELECT (SELECT sum(length(content) + ${ROW_BYTES}) FROM events) AS bytes`,
			)
			.one();
		return { bytes: bytes ?? 0 };
	}

	insert(response: string, request: string, isStream: boolean): void {
		this.#sql.exec(
			"INSERT INTO runs VALUES (?, 0, NULL, 0, ?)",
			response,
			this.#texts.write(textKey(response), request),
		);
		if (isStream) this.#sql.exec("INSERT INTO streams VALUES (?, 0)", response);
	}

	get(response: string): BackgroundRecord | undefined {
		const row = this.#sql
			.exec<{ request: string; attempts: number; ticket: string | null }>(
				"SELECT request, attempts, ticket FROM runs WHERE response = ?",
				response,
			)
			.toArray()[0];
		if (!row) return undefined;
		const { attempts, ticket } = row;
		const request = this.#texts.read(textKey(response), row.request);
		return { request, attempts, ...(ticket !== null && { ticket }) };
	}

	/**
	 * Starts another run. Its events replace those of the run before, and their numbers are higher, so that a reader who continues
	 * after an event of that run gets all of this one. Returns the number of its first event, and the freed bytes.
	 */
	restart(response: string, ticket: string): { firstSequence: number; freed: number } {
		const { firstSequence } = this.#sql
			.exec<{ firstSequence: number }>(
				`UPDATE runs SET attempts = attempts + 1, ticket = ?, first_sequence = max(first_sequence,
				(SELECT coalesce(max(last_sequence), -1) + 1 FROM events WHERE events.response = runs.response))
				WHERE response = ? RETURNING first_sequence AS firstSequence`,
				ticket,
				response,
			)
			.one();
		return { firstSequence, freed: this.#deleteEvents(response) };
	}

	isStream(response: string): boolean {
		return this.#sql.exec("SELECT 1 FROM streams WHERE response = ?", response).toArray().length > 0;
	}

	/** Returns the bytes of the new row. */
	append(response: string, { first, last, content }: EventBatch): number {
		const { row } = this.#sql
			.exec<{ row: number }>(
				"SELECT coalesce(max(row), -1) + 1 AS row FROM events WHERE response = ?",
				response,
			)
			.one();
		this.#sql.exec("INSERT INTO events VALUES (?, ?, ?, ?, ?)", response, row, first, last, content);
		return content.length + ROW_BYTES;
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
	eventsFrom(response: string, row: number): EventRow[] {
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
		this.#sql.exec("DELETE FROM runs WHERE response = ?", response);
		this.#texts.delete(textKey(response));
		this.#sql.exec("UPDATE streams SET kept_until = ? WHERE response = ?", now + EVENTS_KEPT_MS, response);
	}

	/** Deletes everything of the response. Returns the freed bytes. */
	delete(response: string): number {
		this.#sql.exec("DELETE FROM runs WHERE response = ?", response);
		this.#texts.delete(textKey(response));
		this.#sql.exec("DELETE FROM streams WHERE response = ?", response);
		return this.#deleteEvents(response);
	}

	/** Deletes old events. Returns the freed bytes. */
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

	#deleteEvents(response: string): number {
		let freed = 0;
		for (const { bytes } of this.#sql.exec<{ bytes: number }>(
			`DELETE FROM events WHERE response = ? RETURNING length(content) + ${ROW_BYTES} AS bytes`,
			response,
		))
			freed += bytes;
		return freed;
	}
}
