/**
 * Counts the requests that an account's limits refused.
 *
 * A refusal writes nothing, so that a flood of refused requests causes no flood of writes: the counts are in memory, and the
 * account's alarm writes them within `WRITE_MS`. If the object is evicted before, the counts of that time are lost.
 *
 * Models are no dimension: callers can invent model ids, and a refused request costs them nothing.
 */
import { FAILURES, type FailureKey } from "../../core/errors.ts";
import { utcDay } from "../clock.ts";
import { deleteOldDays, nextDayExpiry, sumDays } from "./daily-tables.ts";

/** `code`: the code of the `AiError`. `token`: the token's id, empty for the operator. */
export const REFUSAL_DIMENSIONS = ["day", "code", "task", "token"] as const;
export type RefusalDimension = (typeof REFUSAL_DIMENSIONS)[number];

/** Each write of a key adds to its row. The day is that of the refusal. Deleted by the alarm together with the usage of its day. */
const REFUSALS = `CREATE TABLE IF NOT EXISTS refusals (
	day TEXT NOT NULL,
	code INTEGER NOT NULL,
	task TEXT NOT NULL,
	token TEXT NOT NULL,
	requests INTEGER NOT NULL,
	PRIMARY KEY (day, code, task, token)
) WITHOUT ROWID`;

/** Shorter than the time for which the runtime keeps an idle object. */
export const WRITE_MS = 5_000;
const TABLE = {
	name: "refusals",
	sums: "total(requests) AS requests",
	dimensions: REFUSAL_DIMENSIONS,
};

/** Days are `2026-11-21`, both ends included. */
export interface RefusalsQuery {
	from?: string;
	to?: string;
	task?: string;
	token?: string;
	/** Dimensions of the rows; without any there is a single row. */
	by: readonly RefusalDimension[];
}

export interface RefusalRow {
	requests: number;
	day?: string;
	code?: number;
	task?: string;
	token?: string;
}

export interface RefusalsReport {
	/** Sorted by the dimensions, in the order of {@link REFUSAL_DIMENSIONS}. */
	rows: RefusalRow[];
	/** The sum over all rows that match the query, also those left out. */
	requests: number;
	/** Whether rows were left out. */
	truncated: boolean;
}

interface Count {
	day: string;
	code: number;
	task: string;
	token: string;
	requests: number;
}

export class Refusals {
	readonly #sql: SqlStorage;
	/** The counts of the last `WRITE_MS`. Keys are codes, tasks and existing tokens, so callers cannot add keys. */
	readonly #counts = new Map<string, Count>();

	/** The table must exist. */
	constructor(sql: SqlStorage) {
		this.#sql = sql;
	}

	static create(sql: SqlStorage): void {
		sql.exec(REFUSALS);
	}

	/** Whether there are unwritten counts. */
	get isPending(): boolean {
		return this.#counts.size > 0;
	}

	count(failure: FailureKey, { task, token }: { task: string; token: string }, now: number): void {
		const { code } = FAILURES[failure];
		const day = utcDay(now);
		const id = `${day} ${code} ${token} ${task}`;
		const count = this.#counts.get(id);
		if (count) count.requests++;
		else this.#counts.set(id, { day, code, task, token, requests: 1 });
	}

	write(): void {
		for (const { day, code, task, token, requests } of this.#counts.values())
			this.#sql.exec(
				`INSERT INTO refusals VALUES (?, ?, ?, ?, ?)
				ON CONFLICT DO UPDATE SET requests = requests + excluded.requests`,
				day,
				code,
				task,
				token,
				requests,
			);
		this.#counts.clear();
	}

	/** Writes the unwritten counts first, so that the report is complete. */
	report({ from, to, task, token, by }: RefusalsQuery): RefusalsReport {
		this.write();
		const query = { from, to, where: { task, token }, by };
		const { rows, total, truncated } = sumDays<RefusalDimension, { requests: number }>(
			this.#sql,
			TABLE,
			query,
		);
		return { rows: rows as RefusalRow[], requests: total.requests, truncated };
	}

	deleteExpired(now: number): void {
		deleteOldDays(this.#sql, TABLE.name, now);
	}

	/** When the oldest row may be deleted. */
	nextExpiry(): number | undefined {
		return nextDayExpiry(this.#sql, TABLE.name);
	}
}
