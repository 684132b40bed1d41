/** The table of an account's usage by UTC day. */
import type { Settlement } from "../admission.ts";
import { startOfDay, utcDay } from "../clock.ts";
import { deleteOldDays, nextDayExpiry, sumDays } from "./daily-tables.ts";
import type { OpenRequest } from "./request-rows.ts";

/** `token`: the token's id, empty for the operator. `backend`: empty if none answered. */
export const DIMENSIONS = ["day", "model", "task", "token", "backend"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/**
 * Settlements add to the row of their key; a batch writes each row once. The day is that of the request's admission. The alarm
 * deletes a row 400 days after its day. `overruns`: requests that cost more than their reservation.
 */
const USAGE = `CREATE TABLE IF NOT EXISTS usage (
	day TEXT NOT NULL,
	model TEXT NOT NULL,
	task TEXT NOT NULL,
	token TEXT NOT NULL,
	backend TEXT NOT NULL,
	requests INTEGER NOT NULL,
	failed INTEGER NOT NULL,
	overruns INTEGER NOT NULL,
	input_tokens INTEGER NOT NULL,
	cached_tokens INTEGER NOT NULL,
	output_tokens INTEGER NOT NULL,
	micro_neurons INTEGER NOT NULL,
	PRIMARY KEY (day, model, task, token, backend)
) WITHOUT ROWID`;

export interface UsageCounts {
	/** All settled requests, failed ones included. */
	requests: number;
	failed: number;
	overruns: number;
	inputTokens: number;
	cachedTokens: number;
	outputTokens: number;
	microNeurons: number;
}

/** Days are `2026-11-21`, both ends included. */
export interface UsageQuery {
	from?: string;
	to?: string;
	model?: string;
	task?: string;
	token?: string;
	backend?: string;
	/** Dimensions of the rows; without any there is a single row. */
	by: readonly Dimension[];
}

export type UsageRow = UsageCounts & Partial<Record<Dimension, string>>;

export interface UsageReport {
	/** Sorted by the dimensions, in the order of {@link DIMENSIONS}. */
	rows: UsageRow[];
	/** The sum over all rows that match the query, also those left out. */
	total: UsageCounts;
	/** Whether rows were left out. */
	truncated: boolean;
}

const ZERO: UsageCounts = {
	requests: 0,
	failed: 0,
	overruns: 0,
	inputTokens: 0,
	cachedTokens: 0,
	outputTokens: 0,
	microNeurons: 0,
};

/** `total()` is a floating-point sum. `sum()` of integers fails above 2^63, so one wrong row would break every report. */
const SUMS = `total(requests) AS requests, total(failed) AS failed, total(overruns) AS overruns,
	total(input_tokens) AS inputTokens, total(cached_tokens) AS cachedTokens,
	total(output_tokens) AS outputTokens, total(micro_neurons) AS microNeurons`;
const TABLE = { name: "usage", sums: SUMS, dimensions: DIMENSIONS };

export class Usage {
	readonly #sql: SqlStorage;

	/** The table must exist. */
	constructor(sql: SqlStorage) {
		this.#sql = sql;
	}

	static create(sql: SqlStorage): void {
		sql.exec(USAGE);
	}

	/** Writes one row for each key of the settlements. */
	add(settled: readonly (readonly [OpenRequest, Settlement])[]): void {
		const rows = new Map<string, { key: string[]; counts: UsageCounts }>();
		for (const [request, settlement] of settled) {
			const { model, task, token } = request;
			const key = [utcDay(request.admittedAt), model, task, token, settlement.backend];
			const id = JSON.stringify(key);
			const row = rows.get(id) ?? { key, counts: { ...ZERO } };
			rows.set(id, row);
			row.counts.requests++;
			if (settlement.outcome === "failed") row.counts.failed++;
			if (settlement.microNeurons > request.reserved) row.counts.overruns++;
			row.counts.inputTokens += settlement.inputTokens;
			row.counts.cachedTokens += settlement.cachedTokens;
			row.counts.outputTokens += settlement.outputTokens;
			row.counts.microNeurons += settlement.microNeurons;
		}
		for (const { key, counts } of rows.values())
			this.#sql.exec(
				`INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT DO UPDATE SET
					requests = requests + excluded.requests,
					failed = failed + excluded.failed,
					overruns = overruns + excluded.overruns,
					input_tokens = input_tokens + excluded.input_tokens,
					cached_tokens = cached_tokens + excluded.cached_tokens,
					output_tokens = output_tokens + excluded.output_tokens,
					micro_neurons = micro_neurons + excluded.micro_neurons`,
				...key,
				counts.requests,
				counts.failed,
				counts.overruns,
				counts.inputTokens,
				counts.cachedTokens,
				counts.outputTokens,
				counts.microNeurons,
			);
	}

	/** Reduces the cost of a charge, which has no backend. */
	reduce(
		{ admittedAt, model, task, token }: Pick<OpenRequest, "admittedAt" | "model" | "task" | "token">,
		microNeurons: number,
	): void {
		this.#sql.exec(
			`UPDATE usage SET micro_neurons = micro_neurons - ?
			WHERE day = ? AND model = ? AND task = ? AND token = ? AND backend = ''`,
			microNeurons,
			utcDay(admittedAt),
			model,
			task,
			token,
		);
	}

	report({ from, to, by, model, task, token, backend }: UsageQuery): UsageReport {
		return sumDays<Dimension, UsageCounts>(this.#sql, TABLE, {
			from,
			to,
			where: { model, task, token, backend },
			by,
		}) as UsageReport;
	}

	/** The cost of a month (`2026-11`), by day, model and token. */
	spent(month: string): { day: string; model: string; token: string; microNeurons: number }[] {
		return this.#sql
			.exec<{ day: string; model: string; token: string; microNeurons: number }>(
				`SELECT day, model, token, total(micro_neurons) AS microNeurons FROM usage
				WHERE day BETWEEN ? AND ? GROUP BY day, model, token`,
				`${month}-01`,
				`${month}-31`,
			)
			.toArray();
	}

	/** The start of the latest day in any row; 0 without rows. */
	latest(): number {
		const { day } = this.#sql.exec<{ day: string | null }>("SELECT max(day) AS day FROM usage").one();
		return day === null ? 0 : startOfDay(day);
	}

	deleteExpired(now: number): void {
		deleteOldDays(this.#sql, TABLE.name, now);
	}

	/** When the oldest row may be deleted. */
	nextExpiry(): number | undefined {
		return nextDayExpiry(this.#sql, TABLE.name);
	}
}
