/**
 * How many requests an account's limits refused.
 *
 * To refuse writes nothing, so that a flood of refused requests cannot become one of writes: they are counted in memory,
 * and the account's alarm writes the counts, within `WRITE_MS`. An object that dies before loses those of that time.
 *
 * Not by model: callers can make up ids, and a refused request costs them nothing.
 */
import { FAILURES, type FailureKey } from "../../core/errors.ts";
import { utcDay } from "../clock.ts";
import { deleteOldDays, nextDayExpiry, sumDays } from "./daily-tables.ts";

/** `code`: of the `AiError`. `token`: its id, empty for the operator. */
export const REFUSAL_DIMENSIONS = ["day", "code", "task", "token"] as const;
export type RefusalDimension = (typeof REFUSAL_DIMENSIONS)[number];

/** A row is added to by each writing of its key. The day is that of the refusal. Dies by the alarm, as the usage of its day. */
const REFUSALS = `CREATE TABLE IF NOT EXISTS refusals (
	day TEXT NOT NULL,
	code INTEGER NOT NULL,
	task TEXT NOT NULL,
	token TEXT NOT NULL,
	requests INTEGER NOT NULL,
	PRIMARY KEY (day, code, task, token)
) WITHOUT ROWID`;

/** Less than the runtime keeps an object that nobody asks anything. */
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
	/** Dimensions of the rows; none: a single row. */
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
	/** Ordered by their dimensions, in the order of {@link REFUSAL_DIMENSIONS}. */
	rows: RefusalRow[];
	/** Of all that the query names, also of rows that were left out. */
	requests: number;
	/** Whether there were more rows than a report holds. */
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
	/** Of the last `WRITE_MS`. Its keys are codes, tasks and existing tokens, so callers cannot add to them. */
	readonly #counts = new Map<string, Count>();

	/** The table must be there. */
	constructor(sql: SqlStorage) {
		this.#sql = sql;
	}

	static create(sql: SqlStorage): void {
		sql.exec(REFUSALS);
	}

	/** Whether there are counts that are only in memory. */
	get isPending(): boolean {
		return this.#counts.size > 0;
	}

	count(failure: FailureKey, { task, token }: { task: string; token: string }, now: number): void {
		const { code } = FAILURES[failure];
		const day = utcDay(now);
		const id = `${day} ${code} ${token} ${task}`;
		const known = this.#counts.get(id);
		if (known) known.requests++;
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

	/** Of all that was refused until now: writes what is not written yet. */
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

	/** When the oldest row dies. */
	nextExpiry(): number | undefined {
		return nextDayExpiry(this.#sql, TABLE.name);
	}
}
