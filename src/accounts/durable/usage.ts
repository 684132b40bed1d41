/** The table of an account's usage by UTC day. */
import type { Settlement } from "../admission.ts";
import { startOfDay, utcDay } from "../clock.ts";
import { type DailySums, DailyTable, dailyLayout } from "./daily-table.ts";
import type { OpenRequest } from "./request-rows.ts";
import type { AccountRows } from "./row-table.ts";

/** `token`: the token's id, empty for the operator. `backend`: empty if none answered. */
export const DIMENSIONS = ["day", "model", "task", "token", "backend"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

export interface UsageCounts {
	/** All settled requests, failed ones included. */
	requests: number;
	failed: number;
	/** Requests that cost more than their reservation. */
	overruns: number;
	inputTokens: number;
	cachedTokens: number;
	outputTokens: number;
	microNeurons: number;
	/** Requests with at least a part of an answer. The times are the sums of theirs, in milliseconds. */
	answered: number;
	latencyMs: number;
	firstTokenMs: number;
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

const COUNTS = [
	"requests",
	"failed",
	"overruns",
	"inputTokens",
	"cachedTokens",
	"outputTokens",
	"microNeurons",
	"answered",
	"latencyMs",
	"firstTokenMs",
] as const satisfies (keyof UsageCounts)[];

/**
 * Settlements add to the row of their key; a batch writes each row once. The day is that of the request's admission. The alarm
 * deletes a row 400 days after its day.
 */
const TABLE = dailyLayout<Dimension, keyof UsageCounts>(
	"usage",
	{
		day: "TEXT NOT NULL",
		model: "TEXT NOT NULL",
		task: "TEXT NOT NULL",
		token: "TEXT NOT NULL",
		backend: "TEXT NOT NULL",
	},
	COUNTS,
);

export type Charge = Pick<OpenRequest, "admittedAt" | "model" | "task" | "token">;

/** Charges have no backend. */
const CHARGES = "day = ? AND model = ? AND task = ? AND token = ? AND backend = ''";

const keyOf = ({ admittedAt, model, task, token }: Charge): string[] => [
	utcDay(admittedAt),
	model,
	task,
	token,
];

const NO_ANSWER = { answered: 0, latencyMs: 0, firstTokenMs: 0 };

export class Usage extends DailyTable<Dimension, keyof UsageCounts> {
	constructor(rows: AccountRows) {
		super(rows, TABLE);
	}

	/** Writes one row for each key of the settlements. */
	addSettled(settled: readonly (readonly [OpenRequest, Settlement])[]): void {
		const sums: DailySums<Dimension, keyof UsageCounts> = new Map();
		for (const [{ admittedAt, model, task, token, reserved }, settlement] of settled) {
			const { backend, outcome, microNeurons, inputTokens, cachedTokens, outputTokens } = settlement;
			const { latencyMs, firstTokenMs } = settlement;
			// A caller who disconnects before the first part of a stream has no answer, so there is no time to its first part.
			const isAnswered = outcome !== "failed" && firstTokenMs !== undefined;
			this.sum(sums, {
				...{ day: utcDay(admittedAt), model, task, token, backend },
				requests: 1,
				failed: outcome === "failed" ? 1 : 0,
				overruns: microNeurons > reserved ? 1 : 0,
				...{ inputTokens, cachedTokens, outputTokens, microNeurons },
				...(isAnswered ? { answered: 1, latencyMs, firstTokenMs } : NO_ANSWER),
			});
		}
		this.add(sums.values());
	}

	/** Reduces the cost of a charge. */
	reduce(charge: Charge, microNeurons: number): void {
		this.table.subtract("microNeurons", microNeurons, CHARGES, ...keyOf(charge));
	}

	/** `microNeurons`: what is left of the charge. */
	removeCharge(charge: Charge, microNeurons: number): void {
		this.reduce(charge, microNeurons);
		this.table.subtract("requests", 1, CHARGES, ...keyOf(charge));
		this.table.delete(`${CHARGES} AND requests = 0`, ...keyOf(charge));
	}

	report({ from, to, by, ...where }: UsageQuery): UsageReport {
		return this.sumDays({ from, to, where, by }) as UsageReport;
	}

	/** The cost of a month (`2026-11`), by day, model and token. */
	spent(month: string): { day: string; model: string; token: string; microNeurons: number }[] {
		return this.table.read(
			"day, model, token, total(micro_neurons) AS microNeurons",
			{ where: "day BETWEEN ? AND ?", group: "day, model, token" },
			...[`${month}-01`, `${month}-31`],
		);
	}

	/** The start of the latest day in any row; 0 without rows. */
	latest(): number {
		const { day } = this.table.readOne<{ day: string | null }>("max(day) AS day");
		return day === null ? 0 : startOfDay(day);
	}
}
