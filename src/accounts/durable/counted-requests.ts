/**
 * Requests that count against a rate and are not billed: conversions to Markdown, token counts. They have no row in `requests`,
 * so this table has their times of the last minute.
 */
import type { Admitted, CountedRequest } from "../admission.ts";
import { type FullRate, WINDOW_MS, type Windows } from "./windows.ts";

/** One row for each key and millisecond, written by each count. Deleted by the first count or alarm a minute later. */
const COUNTED = `CREATE TABLE IF NOT EXISTS counted (
	counted_at INTEGER NOT NULL,
	key TEXT NOT NULL,
	requests INTEGER NOT NULL,
	PRIMARY KEY (counted_at, key)
) WITHOUT ROWID`;

/** Whether such a request is admitted. */
export type Counted = { ok: true } | Extract<Admitted, { ok: false }>;

export class CountedRequests {
	readonly #sql: SqlStorage;
	readonly #windows: Windows;

	constructor(sql: SqlStorage, windows: Windows) {
		this.#sql = sql;
		this.#windows = windows;
		sql.exec(COUNTED);
	}

	/** Restores the counts of the last minute into empty windows. */
	restore(now: number): void {
		const rows = this.#sql.exec<{ counted_at: number; key: string; requests: number }>(
			"SELECT * FROM counted WHERE counted_at > ? AND counted_at <= ? ORDER BY counted_at",
			now - WINDOW_MS,
			now,
		);
		for (const { counted_at, key, requests } of rows)
			for (let i = 0; i < requests; i++) this.#windows.count([key], counted_at);
	}

	/** Counts the request, unless a rate refuses it, which is returned. */
	count({ rates }: CountedRequest, now: number): FullRate | undefined {
		const full = this.#windows.refusing(rates, now);
		if (full) return full;
		this.deleteExpired(now);
		const keys = rates.map(({ key }) => key);
		for (const key of keys)
			this.#sql.exec(
				"INSERT INTO counted VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET requests = requests + 1",
				now,
				key,
			);
		this.#windows.count(keys, now);
		return undefined;
	}

	/** Deletes rows older than a minute. */
	deleteExpired(now: number): void {
		this.#sql.exec("DELETE FROM counted WHERE counted_at <= ?", now - WINDOW_MS);
	}
}
