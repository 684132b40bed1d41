/**
 * Routes for the operator: `GET /client/v4/accounts` lists all accounts (Cloudflare's route, without the fields that are
 * not known here). `GET /client/v4/usage` reports the usage of each account, as JSON or CSV. A page has 100 accounts;
 * `cursor` comes from the page before.
 */
import { type Context, Hono } from "hono";
import * as z from "zod";
import { utcDay } from "../../accounts/clock.ts";
import { AiError } from "../../core/errors.ts";
import { parseFields } from "../../http/account-request.ts";
import { ACCOUNT_ID, bearerOf } from "../../http/authenticate.ts";
import { csv } from "../../http/csv.ts";
import { envelope } from "../../http/envelope.ts";
import { methodNotAllowed } from "../../http/method-not-allowed.ts";
import type { Services } from "../../pipeline/services.ts";
import { BACKWARD, COUNTS, countsJson, isForward, period, withStart } from "./usage.ts";

/** Each account is one call of its object, which is a subrequest. */
const PAGE = 100;

const cursor = z.string().regex(ACCOUNT_ID, "expected the cursor of the answer before").optional();
const ListQuery = z.strictObject({ cursor });
const usageQuery = (today: string) =>
	z
		.strictObject({ cursor, ...period(today) })
		.transform(withStart)
		.refine(isForward, BACKWARD);

export function allAccounts({ directory, ledgers, now }: Services): Hono {
	const app = new Hono({ strict: false });
	const pageAfter = (after: string | undefined) =>
		directory.list({ limit: PAGE, ...(after !== undefined && { after }) });

	app.get("/accounts", async (c) => {
		onlyOperator(c);
		const { accounts, next } = await pageAfter(parseFields(ListQuery, c.req.query(), "query").cursor);
		const result = accounts.map(({ id, recordedAt }) => ({
			id,
			name: id,
			type: "standard",
			created_on: new Date(recordedAt).toISOString(),
		}));
		return envelope(result, {
			result_info: { count: result.length, ...(next !== undefined && { cursor: next }) },
		});
	});

	app.get("/usage", async (c) => {
		onlyOperator(c);
		const { cursor, from, to, format } = parseFields(usageQuery(utcDay(now())), c.req.query(), "query");
		const { accounts, next } = await pageAfter(cursor);
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
	});

	methodNotAllowed(app, ["/accounts", "/usage"]);
	return app;
}

function onlyOperator(c: Context): void {
	if (bearerOf(c).credential.kind !== "operator")
		throw new AiError("forbidden", "Authentication error: only the operator's token sees all accounts");
}
