/**
 * Routes for the operator: `GET /client/v4/accounts` lists all accounts (Cloudflare's route, without the fields that this
 * gateway does not have). `GET /client/v4/usage` reports the usage of each account, as JSON or CSV. A page has 100
 * accounts; `cursor` comes from the previous page.
 */
import type { Context } from "hono";
import * as z from "zod";
import { utcDay } from "../../accounts/clock.ts";
import { lazy } from "../../core/lazy.ts";
import { present } from "../../core/present.ts";
import { parseFields } from "../../http/account-request.ts";
import { csv } from "../../http/csv.ts";
import { envelope } from "../../http/envelope.ts";
import { answer } from "../answer.ts";
import { V4 } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import type { AppServices } from "../services.ts";
import { COUNTS, countsJson, isForward, period, START_AFTER_END, withStart } from "./usage.ts";

/** A report calls the object of each account, which is one subrequest. */
const PAGE_SIZE = 100;

/** Any id: the account of a binding may have characters that the account of an address may not. */
const cursor = lazy(() => z.string().min(1).optional());
const ListQuery = lazy(() => z.strictObject({ cursor: cursor() }));
const usageQuery = (today: string) =>
	z
		.strictObject({ cursor: cursor(), ...period(today) })
		.transform(withStart)
		.refine(isForward, START_AFTER_END);

const pageAfter = ({ directory }: AppServices, after: string | undefined) =>
	directory.list({ limit: PAGE_SIZE, ...(after !== undefined && { after }) });

export const operatorRoutes: readonly AppRoute[] = defineRoutes({ bases: [V4], tag: "Accounts" }, [
	{
		method: "GET",
		path: "/accounts",
		summary: "Lists all accounts",
		permission: "operator",
		query: ListQuery,
		output: answer("accountsAnswer"),
		handler: listAccounts,
	},
	{
		method: "GET",
		path: "/usage",
		summary: "Reports the usage of each account",
		permission: "operator",
		query: usageQuery,
		output: answer("accountsUsageAnswer"),
		handler: reportUsage,
	},
]);

async function listAccounts(c: Context, { services }: AppCall): Promise<Response> {
	const { cursor } = parseFields(ListQuery(), c.req.query(), "query");
	const { accounts, next } = await pageAfter(services, cursor);
	const result = accounts.map(({ id, recordedAt }) => ({
		id,
		name: id,
		type: "standard",
		created_on: new Date(recordedAt).toISOString(),
	}));
	return envelope(result, { result_info: { count: result.length, ...present({ cursor: next }) } });
}

async function reportUsage(c: Context, { services }: AppCall): Promise<Response> {
	const { ledgers, now } = services;
	const { cursor, from, to, format } = parseFields(usageQuery(utcDay(now())), c.req.query(), "query");
	const { accounts, next } = await pageAfter(services, cursor);
	const rows = await Promise.all(
		accounts.map(async ({ id }) => {
			const { total } = await ledgers.of(id).usage({ from, to, by: ["day"] });
			return { account: id, ...countsJson(total) };
		}),
	);
	if (format === "csv") return csv(rows, ["account", ...COUNTS], `usage-${from}-${to}.csv`);
	return envelope(rows, {
		result_info: { from, to, count: rows.length, ...(next !== undefined && { cursor: next }) },
	});
}
