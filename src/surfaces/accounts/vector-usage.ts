/**
 * `GET …/ai/usage/vectors`: what the vector indexes of an account have used, in the units of the product: queried and stored dimensions
 * (developers.cloudflare.com/vectorize/platform/pricing). Not in the product. They cost no neurons. `usd` is by `VECTORS.prices`.
 */
import type { Context } from "hono";
import * as z from "zod";
import { startOfDay, utcDay } from "../../accounts/clock.ts";
import { parseFields } from "../../http/account-request.ts";
import { csv } from "../../http/csv.ts";
import { envelope } from "../../http/envelope.ts";
import type { VectorPrices } from "../../retrieval/vectors/client/vector-indexes.ts";
import type { VectorDay } from "../../retrieval/vectors/durable/day-table.ts";
import { answer } from "../answer.ts";
import { AI, below } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import { dimensions, isForward, period, START_AFTER_END, withStart } from "./usage.ts";
import { byColumns, countsOf, daysOf, vectorDays } from "./vector-rows.ts";

const GROUPS = ["day", "index"] as const;
type Group = (typeof GROUPS)[number];

const COUNTS = ["queries", "queried_dimensions", "stored_dimensions", "usd"] as const;

const vectorUsageQuery = (today: string) =>
	z
		.strictObject({ ...period(today), group_by: dimensions(GROUPS).default(["day"]) })
		.transform(withStart)
		.refine(isForward, START_AFTER_END);

export const vectorUsageRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(AI, "/usage")], tag: "Usage" },
	[
		{
			method: "GET",
			path: "/vectors",
			summary: "Reports the queried and stored dimensions of vector indexes",
			query: vectorUsageQuery,
			permission: "read",
			output: answer("vectorUsageAnswer"),
			handler: reportVectors,
		},
	],
);

async function reportVectors(c: Context, { caller: { account }, services }: AppCall): Promise<Response> {
	const query = parseFields(vectorUsageQuery(utcDay(services.now())), c.req.query(), "query");
	const { format, from, group_by, to } = query;
	const { rows: days, truncated } = await vectorDays(account, { from, to }, services);
	const columns = GROUPS.filter((group) => group_by.includes(group));
	const prices = services.vectorIndexes.prices;
	const sum = (own: readonly VectorDay[], isOneDay: boolean) =>
		sums(own, prices, isOneDay ? 1 : daysOf({ from, to }));
	const rows = [...Map.groupBy(days, (row) => JSON.stringify(columns.map((column) => row[column]))).values()]
		.map((own) => ({ ...groupOf(own, columns), ...sum(own, columns.includes("day")) }))
		.sort(byColumns(columns));
	if (format === "csv") return csv(rows, [...columns, ...COUNTS], `vectors-${account}-${from}-${to}.csv`);
	return envelope(rows, {
		result_info: {
			...{ from, to, group_by: columns, count: rows.length, truncated },
			totals: sum(days, false),
		},
	});
}

const groupOf = ([first]: readonly VectorDay[], columns: readonly Group[]): Partial<Record<Group, string>> =>
	Object.fromEntries(columns.map((column) => [column, first?.[column] ?? ""]));

function sums(rows: readonly VectorDay[], prices: VectorPrices, days: number) {
	const { vector_queries: queries, ...dimensions } = countsOf(rows, days);
	return { queries, ...dimensions, usd: rows.reduce((sum, row) => sum + usdOf(row, prices), 0) };
}

/** The product counts stored vectors once a month as queried, too. A day has its part of the month. */
function usdOf({ day, queriedDimensions, storedDimensions }: VectorDay, prices: VectorPrices): number {
	const date = new Date(startOfDay(day));
	const daysOfMonth = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
	const stored = storedDimensions / daysOfMonth;
	const queried = ((queriedDimensions + stored) / 1e6) * prices.millionQueriedDimensions;
	return queried + (stored / 1e8) * prices.hundredMillionStoredDimensions;
}
