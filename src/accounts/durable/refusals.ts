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
import { type DailySums, DailyTable, dailyLayout } from "./daily-table.ts";
import type { AccountRows } from "./row-table.ts";

/** `code`: the code of the `AiError`. `token`: the token's id, empty for the operator. */
export const REFUSAL_DIMENSIONS = ["day", "code", "task", "token"] as const;
type RefusalDimension = (typeof REFUSAL_DIMENSIONS)[number];

/** Shorter than the time for which the runtime keeps an idle object. */
export const WRITE_MS = 5_000;

/** Each write of a key adds to its row. The day is that of the refusal. Deleted by the alarm together with the usage of its day. */
const TABLE = dailyLayout<RefusalDimension, "requests">(
	"refusals",
	{
		day: "TEXT NOT NULL",
		code: "INTEGER NOT NULL",
		task: "TEXT NOT NULL",
		token: "TEXT NOT NULL",
	},
	["requests"],
);

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

export class Refusals extends DailyTable<RefusalDimension, "requests"> {
	/** The counts of the last `WRITE_MS`. Keys are codes, tasks and existing tokens, so callers cannot add keys. */
	readonly #unwritten: DailySums<RefusalDimension, "requests"> = new Map();
	/** Whether there are unwritten counts. */
	isPending = false;

	constructor(rows: AccountRows) {
		super(rows, TABLE);
	}

	count(failure: FailureKey, { task, token }: { task: string; token: string }, now: number): void {
		this.sum(this.#unwritten, { day: utcDay(now), code: FAILURES[failure].code, task, token, requests: 1 });
		this.isPending = true;
	}

	write(): void {
		this.add(this.#unwritten.values());
		this.#unwritten.clear();
		this.isPending = false;
	}

	/** Writes the unwritten counts first, so that the report is complete. */
	report({ from, to, by, ...where }: RefusalsQuery): RefusalsReport {
		this.write();
		const { rows, total, truncated } = this.sumDays({ from, to, where, by });
		return { rows: rows as RefusalRow[], requests: total.requests, truncated };
	}
}
