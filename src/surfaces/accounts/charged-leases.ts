/**
 * Charged leases, for the operator. `GET …/ai/usage/leases` lists the charges of leases that an isolate did not return.
 * `POST …/ai/usage/leases/{id}/forgive` sets a charge to 0. Not in the product. docs/accounts.md, "Leases".
 */
import type { Context } from "hono";
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { notFound } from "../../core/not-found.ts";
import { present } from "../../core/present.ts";
import { parseFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { answer } from "../answer.ts";
import { AI, below } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import { pageFields, requestJson, requestsEnvelope } from "./usage.ts";

const Query = lazy(() => z.strictObject(pageFields()));

export const chargedLeaseRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(AI, "/usage/leases")], tag: "Usage" },
	[
		{
			method: "GET",
			path: "",
			summary: "Lists charged leases",
			query: Query,
			permission: "operator",
			output: answer("requestsAnswer"),
			handler: listLeases,
		},
		{
			method: "POST",
			path: "/:lease/forgive",
			summary: "Forgives the charge of a lease",
			permission: "operator",
			output: answer("requestAnswer"),
			handler: forgiveLease,
		},
	],
);

async function listLeases(c: Context, { caller, services }: AppCall): Promise<Response> {
	const query = parseFields(Query(), c.req.query(), "query");
	return requestsEnvelope(
		await services.ledgers.of(caller.account).requests({ ...present(query), leases: true }),
	);
}

async function forgiveLease(c: Context, { caller, services }: AppCall): Promise<Response> {
	const lease = pathParameter(c, "lease");
	const record = await services.ledgers.of(caller.account).forgiveLease(lease);
	if (!record) throw notFound("Charged lease", lease, { cure: "; GET …/ai/usage/leases lists them" });
	return envelope(requestJson(record));
}
