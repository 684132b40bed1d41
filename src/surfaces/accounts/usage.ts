/**
 * Usage of an account. `GET …/ai/usage` reports requests and cost by day, model, task, token or backend, as JSON or CSV.
 * `GET …/ai/usage/refused` reports requests that its limits refused, by day, code, task or token, as JSON or CSV.
 * `GET …/ai/usage/requests` lists recent requests. Not in the product. Neurons are exact.
 */
import type { Context } from "hono";
import * as z from "zod";
import {
	EARLIER_OUTCOMES,
	type EngineCall,
	MICRO_NEURONS,
	OUTCOMES,
	presentOutcome,
} from "../../accounts/admission.ts";
import { DAY_MS, utcDay } from "../../accounts/clock.ts";
import { REFUSAL_DIMENSIONS, type RefusalRow } from "../../accounts/durable/refusals.ts";
import type { RequestRecord } from "../../accounts/durable/request-rows.ts";
import type { RequestsPage } from "../../accounts/durable/requests.ts";
import { DIMENSIONS, type Dimension, type UsageCounts, type UsageRow } from "../../accounts/durable/usage.ts";
import { descriptionOfCode } from "../../core/failures.ts";
import { lazy } from "../../core/lazy.ts";
import { present } from "../../core/present.ts";
import { parseFields } from "../../http/account-request.ts";
import { csv } from "../../http/csv.ts";
import { envelope } from "../../http/envelope.ts";
import { answer } from "../answer.ts";
import { AI, below } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import { VECTOR_COUNTS, vectorRows, withVectorRows } from "./vector-rows.ts";

/** Days of a report without `from`, including today. */
const DEFAULT_DAYS = 30;
const MAX_LIMIT = 100;

const filters = lazy(() => ({
	model: z.string().optional(),
	task: z.string().optional(),
	/** The id of a token. Empty for the operator. */
	token: z.string().optional(),
}));

/** The groups of a report, separated by commas. */
export const dimensions = <T extends string>(names: readonly T[]) =>
	z
		.string()
		.transform((text) => text.split(",").map((name) => name.trim()))
		.pipe(z.array(z.enum(names)).min(1));

const day = lazy(() => z.iso.date("expected a UTC day, like 2026-11-21"));

/** The query parameters of a report by days. */
export const period = (today: string) => ({
	from: day().optional(),
	to: day().default(today),
	format: z.enum(["json", "csv"]).default("json"),
});

/** Adds the default of `from`. */
export const withStart = <T extends { from?: string | undefined; to: string }>(
	query: T,
): T & { from: string } => ({
	...query,
	from: query.from ?? utcDay(Date.parse(query.to) - (DEFAULT_DAYS - 1) * DAY_MS),
});

export const isForward = ({ from, to }: { from: string; to: string }): boolean => from <= to;
export const START_AFTER_END = { path: ["from"], message: "is after to" };

const usageQuery = (today: string) =>
	z
		.strictObject({
			...filters(),
			backend: z.string().optional(),
			...period(today),
			group_by: dimensions(DIMENSIONS).default(["day"]),
		})
		.transform(withStart)
		.refine(isForward, START_AFTER_END);

const refusedQuery = (today: string) =>
	z
		.strictObject({
			task: filters().task,
			token: filters().token,
			...period(today),
			group_by: dimensions(REFUSAL_DIMENSIONS).default(["day", "code"]),
		})
		.transform(withStart)
		.refine(isForward, START_AFTER_END);

const wholeNumber = lazy(() =>
	z
		.string()
		.regex(/^\d{1,15}$/, "expected a whole number")
		.transform(Number),
);

/** The query parameters of a page of requests. */
export const pageFields = lazy(() => ({
	limit: wholeNumber().pipe(z.number().min(1).max(MAX_LIMIT)).optional(),
	cursor: wholeNumber().optional(),
}));

const RequestsQuery = lazy(() =>
	z.strictObject({
		...filters(),
		...pageFields(),
		outcome: z
			.enum([...OUTCOMES, "open", ...EARLIER_OUTCOMES])
			.transform((name) => (name === "open" ? name : presentOutcome(name)))
			.optional(),
	}),
);

export const usageRoutes: readonly AppRoute[] = defineRoutes({ bases: [below(AI, "/usage")], tag: "Usage" }, [
	{
		method: "GET",
		path: "",
		summary: "Reports what the account used and what it cost",
		query: usageQuery,
		permission: "read",
		output: answer("usageAnswer"),
		handler: reportUsage,
	},
	{
		method: "GET",
		path: "/refused",
		summary: "Reports what the account's limits refused",
		query: refusedQuery,
		permission: "read",
		output: answer("refusedAnswer"),
		handler: reportRefused,
	},
	{
		method: "GET",
		path: "/requests",
		summary: "Lists recent requests",
		query: RequestsQuery,
		permission: "read",
		output: answer("requestsAnswer"),
		handler: listRequests,
	},
]);

async function listRequests(c: Context, { caller, services }: AppCall): Promise<Response> {
	const query = parseFields(RequestsQuery(), c.req.query(), "query");
	return requestsEnvelope(await services.ledgers.of(caller.account).requests(present(query)));
}

export const requestsEnvelope = ({ requests, cursor }: RequestsPage): Response =>
	envelope(requests.map(requestJson), {
		result_info: { count: requests.length, ...(cursor !== undefined && { cursor: String(cursor) }) },
	});

async function reportUsage(c: Context, { caller: { account }, services }: AppCall): Promise<Response> {
	const query = parseFields(usageQuery(utcDay(services.now())), c.req.query(), "query");
	const { from, to, group_by: by, format, ...others } = query;
	const report = await services.ledgers.of(account).usage({ from, to, by, ...present(others) });
	const columns = DIMENSIONS.filter((dimension) => by.includes(dimension));
	const ofModels = report.rows.map((row) => rowJson(row, columns));
	const ofVectors = await vectorRows(account, { ...query, columns }, services);
	const rows = ofVectors
		? withVectorRows(ofModels, ofVectors, { columns, empty: countsJson(NO_REQUESTS) })
		: ofModels;
	if (format === "csv") {
		const counts = ofVectors ? [...COUNTS, ...VECTOR_COUNTS] : COUNTS;
		return csv(rows, [...columns, ...counts], `usage-${account}-${from}-${to}.csv`);
	}
	const totals = { ...countsJson(report.total), ...ofVectors?.totals };
	const { truncated } = report;
	return envelope(rows, {
		result_info: { from, to, group_by: columns, count: rows.length, truncated, totals },
	});
}

async function reportRefused(c: Context, { caller: { account }, services }: AppCall): Promise<Response> {
	const query = parseFields(refusedQuery(utcDay(services.now())), c.req.query(), "query");
	const { from, to, group_by: by, format, ...others } = query;
	const report = await services.ledgers.of(account).refusals({ from, to, by, ...present(others) });
	const columns = REFUSAL_DIMENSIONS.filter((dimension) => by.includes(dimension));
	const rows = report.rows.map(refusedJson);
	if (format === "csv") return csv(rows, [...columns, "requests"], `refused-${account}-${from}-${to}.csv`);
	const { requests, truncated } = report;
	return envelope(rows, {
		result_info: { from, to, group_by: columns, count: rows.length, truncated, totals: { requests } },
	});
}

export const countsJson = (counts: UsageCounts) => ({
	requests: counts.requests,
	failed: counts.failed,
	input_tokens: counts.inputTokens,
	cached_tokens: counts.cachedTokens,
	output_tokens: counts.outputTokens,
	neurons: counts.microNeurons / MICRO_NEURONS,
	average_latency_ms: average(counts.latencyMs, counts),
	average_time_to_first_token_ms: average(counts.firstTokenMs, counts),
});

const NO_REQUESTS: UsageCounts = {
	...{ requests: 0, failed: 0, overruns: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 },
	...{ microNeurons: 0, answered: 0, latencyMs: 0, firstTokenMs: 0 },
};

/** The columns of {@link countsJson}. */
export const COUNTS = [
	"requests",
	"failed",
	"input_tokens",
	"cached_tokens",
	"output_tokens",
	"neurons",
	"average_latency_ms",
	"average_time_to_first_token_ms",
];

/** Milliseconds of each answered request; `null` without any. */
const average = (sum: number, { answered }: UsageCounts): number | null =>
	answered > 0 ? Math.round(sum / answered) : null;

const rowJson = (row: UsageRow, columns: readonly Dimension[]): Record<string, unknown> => ({
	...Object.fromEntries(columns.map((column) => [column, nullIfEmpty(row[column])])),
	...countsJson(row),
});

const refusedJson = (row: RefusalRow): object =>
	row.token === undefined ? row : { ...row, token: nullIfEmpty(row.token) };

export const requestJson = (record: RequestRecord): object => ({
	id: record.ticket,
	outcome: record.outcome,
	...(record.code !== undefined && { code: record.code, message: descriptionOfCode(record.code) }),
	model: record.model,
	task: record.task,
	token: nullIfEmpty(record.token),
	backend: nullIfEmpty(record.backend),
	attempts: record.attempts,
	...(record.calls && { calls: record.calls.map(callJson) }),
	started_at: instant(record.admittedAt),
	...(record.settledAt !== undefined && { settled_at: instant(record.settledAt) }),
	latency_ms: record.latencyMs ?? null,
	...(record.firstTokenMs !== undefined && { time_to_first_token_ms: record.firstTokenMs }),
	input_tokens: record.inputTokens,
	cached_tokens: record.cachedTokens,
	output_tokens: record.outputTokens,
	neurons: record.microNeurons / MICRO_NEURONS,
	reserved_neurons: record.reservedMicroNeurons / MICRO_NEURONS,
	estimated: record.estimated,
	...(record.forgivenAt !== undefined && { forgiven_at: instant(record.forgivenAt) }),
});

const callJson = ({ backend, startedMs, failedMs, code }: EngineCall): object => ({
	backend,
	started_ms: startedMs,
	...(failedMs !== undefined && { failed_ms: failedMs }),
	...(code !== undefined && { code }),
});

/** `null` for the token of the operator, and for the backend of a request that no engine answered. */
const nullIfEmpty = (name: string | undefined): string | null => name || null;

const instant = (milliseconds: number): string => new Date(milliseconds).toISOString();
