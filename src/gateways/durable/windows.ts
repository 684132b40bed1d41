/**
 * Amounts by key and window of time: requests or US dollars. A *fixed* window is aligned to the epoch. A *sliding* window counts the current
 * aligned window, and the previous one weighted by the part of it that the last `windowMs` overlap.
 */
const TABLE = `CREATE TABLE IF NOT EXISTS windows (
	key TEXT NOT NULL,
	start INTEGER NOT NULL,
	ends INTEGER NOT NULL,
	amount REAL NOT NULL,
	PRIMARY KEY (key, start)
) WITHOUT ROWID`;
const BY_END = "CREATE INDEX IF NOT EXISTS windows_by_end ON windows (ends)";

/** Windows that are over are deleted in portions: at most this number by each addition. */
const SWEPT = 4;

export interface Window {
	/** Identifies the limit, and the value that it is counted by. */
	key: string;
	/** Milliseconds. */
	windowMs: number;
	technique: "fixed" | "sliding";
}

export class Windows {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(TABLE);
		sql.exec(BY_END);
	}

	/** The amount in the window at a time. `now`: epoch milliseconds. */
	amount({ key, windowMs, technique }: Window, now: number): number {
		const start = startOf(windowMs, now);
		const current = this.#stored(key, start);
		if (technique === "fixed") return current;
		const overlap = 1 - (now - start) / windowMs;
		return current + this.#stored(key, start - windowMs) * overlap;
	}

	add({ key, windowMs }: Window, amount: number, now: number): void {
		const start = startOf(windowMs, now);
		this.#sql.exec(
			`INSERT INTO windows VALUES (?, ?, ?, ?)
			ON CONFLICT (key, start) DO UPDATE SET amount = amount + excluded.amount`,
			key,
			start,
			// A sliding window needs the previous one.
			start + 2 * windowMs,
			amount,
		);
		this.#sql.exec(
			`DELETE FROM windows WHERE (key, start) IN
				(SELECT key, start FROM windows WHERE ends <= ? ORDER BY ends LIMIT ?)`,
			now,
			SWEPT,
		);
	}

	clear(): void {
		this.#sql.exec("DELETE FROM windows");
	}

	#stored(key: string, start: number): number {
		const [row] = this.#sql
			.exec<{ amount: number }>("SELECT amount FROM windows WHERE key = ? AND start = ?", key, start)
			.toArray();
		return row?.amount ?? 0;
	}
}

const startOf = (windowMs: number, now: number): number => Math.floor(now / windowMs) * windowMs;
