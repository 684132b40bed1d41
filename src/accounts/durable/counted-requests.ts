/**
 * Requests that count against a rate and are not billed: conversions to Markdown, token counts. They have no row in `requests`,
 * so this table has their times of the last minute.
 */
import type { Admitted, CountedRequest } from "../admission.ts";
import { type AccountRows, RowTable } from "./row-table.ts";
import { type FullRate, WINDOW_MS, type Windows } from "./windows.ts";

/** One row for each key and millisecond, written by each count. Deleted by the first count or alarm a minute later. */
type CountedRow = { countedAt: number; key: string; requests: number };

const COLUMNS = {
	countedAt: "INTEGER NOT NULL",
	key: "TEXT NOT NULL",
	requests: "INTEGER NOT NULL",
} satisfies Record<keyof CountedRow, string>;

/** Whether such a request is admitted. */
export type Counted = { ok: true } | Extract<Admitted, { ok: false }>;

export class CountedRequests {
	readonly #table: RowTable<CountedRow>;
	readonly #windows: Windows;

	constructor(rows: AccountRows, windows: Windows) {
		this.#windows = windows;
		this.#table = new RowTable<CountedRow>({
			...{ rows, name: "counted", columns: COLUMNS },
			...{ key: ["countedAt", "key"], summed: ["requests"] },
		});
	}

	/** Restores the counts of the last minute into empty windows. */
	restore(now: number): void {
		const lastMinute = { where: "counted_at > ? AND counted_at <= ?", order: "counted_at" };
		for (const { countedAt, key, requests } of this.#table.each(lastMinute, now - WINDOW_MS, now))
			for (let i = 0; i < requests; i++) this.#windows.count([key], countedAt);
	}

	/** Counts the request, unless a rate refuses it, which is returned. */
	count({ rates }: CountedRequest, now: number): FullRate | undefined {
		const full = this.#windows.refusing(rates, now);
		if (full) return full;
		this.deleteExpired(now);
		const keys = rates.map(({ key }) => key);
		for (const key of keys) this.#table.write({ countedAt: now, key, requests: 1 });
		this.#windows.count(keys, now);
		return undefined;
	}

	/** Deletes rows older than a minute. */
	deleteExpired(now: number): void {
		this.#table.delete("counted_at <= ?", now - WINDOW_MS);
	}
}
