/** The responses in the background that have not ended, and those that may not be in the queue yet. */
import type { BackgroundRecord } from "../records.ts";
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
/**
 * Responses whose process may have ended before they were in the queue. Written with the row of `runs`. A row dies when the response
 * starts or ends, or when this object has put it into the queue, after `enqueue_at` (epoch milliseconds).
 */
const UNQUEUED = `CREATE TABLE IF NOT EXISTS unqueued (
	response TEXT PRIMARY KEY,
	account TEXT NOT NULL,
	enqueue_at INTEGER NOT NULL
) WITHOUT ROWID`;
/** Requests of runs begin with this key. */
const TEXTS = "runs/";
const textKey = (response: string): string => TEXTS + response;

/** Longer than a call of the queue. Also between two attempts. */
export const ENQUEUE_AFTER_MS = 60_000;
const ENQUEUED_AT_ONCE = 100;

export class RunTable {
	readonly #sql: SqlStorage;
	readonly #texts: LongTexts;

	constructor(sql: SqlStorage, texts: LongTexts) {
		this.#sql = sql;
		this.#texts = texts;
		sql.exec(`${RUNS}; ${UNQUEUED}`);
	}

	/** Of all requests. */
	totalBytes(): number {
		const { bytes } = this.#sql
			.exec<{ bytes: number | null }>("SELECT sum(length(CAST(request AS BLOB))) AS bytes FROM runs")
			.one();
		return (bytes ?? 0) + this.#texts.bytesOf(TEXTS);
	}

	insert(response: string, request: string, { account, now }: { account: string; now: number }): void {
		this.#sql.exec(
			"INSERT INTO runs VALUES (?, 0, NULL, 0, ?)",
			response,
			this.#texts.write(textKey(response), request),
		);
		this.#sql.exec("INSERT INTO unqueued VALUES (?, ?, ?)", response, account, now + ENQUEUE_AFTER_MS);
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
	 * after an event of that run gets all of this one. `nextSequence`: after the last event of that run. Returns the number of its
	 * first event.
	 */
	restart(response: string, ticket: string, nextSequence: number): number {
		this.enqueued([response]);
		return this.#sql
			.exec<{ firstSequence: number }>(
				`UPDATE runs SET attempts = attempts + 1, ticket = ?, first_sequence = max(first_sequence, ?)
				WHERE response = ? RETURNING first_sequence AS firstSequence`,
				ticket,
				nextSequence,
				response,
			)
			.one().firstSequence;
	}

	/** The response has ended or is deleted. Returns the freed bytes. */
	delete(response: string): number {
		this.enqueued([response]);
		const [row] = this.#sql
			.exec<{ bytes: number }>(
				"DELETE FROM runs WHERE response = ? RETURNING length(CAST(request AS BLOB)) AS bytes",
				response,
			)
			.toArray();
		return row ? row.bytes + this.#texts.delete(textKey(response)) : 0;
	}

	/** Some responses that this object has to put into the queue. */
	unqueued(now: number): { account: string; response: string }[] {
		return this.#sql
			.exec<{ account: string; response: string }>(
				"SELECT account, response FROM unqueued WHERE enqueue_at <= ? LIMIT ?",
				now,
				ENQUEUED_AT_ONCE,
			)
			.toArray();
	}

	enqueued(responses: readonly string[]): void {
		for (const response of responses) this.#sql.exec("DELETE FROM unqueued WHERE response = ?", response);
	}

	postpone(responses: readonly string[], enqueueAt: number): void {
		for (const response of responses)
			this.#sql.exec("UPDATE unqueued SET enqueue_at = ? WHERE response = ?", enqueueAt, response);
	}

	nextEnqueue(): number | undefined {
		const { first } = this.#sql
			.exec<{ first: number | null }>("SELECT min(enqueue_at) AS first FROM unqueued")
			.one();
		return first ?? undefined;
	}
}
