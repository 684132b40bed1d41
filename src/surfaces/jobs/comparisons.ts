/** Pages of comparisons, for replays and shadows. */
import type { Context } from "hono";
import * as z from "zod";
import { parseJson } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import type { LogCalls } from "../../gateways/client/gateway-logs.ts";
import type { Comparison } from "../../gateways/comparisons/records.ts";
import { timeOfId } from "../../gateways/logs/log-row.ts";
import { parseFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { logsOf } from "../gateway/log-access.ts";
import { gatewayNotFound, pageFields, pageInfo } from "../gateway/management.ts";
import type { AppCall } from "../route.ts";

const MAX_PER_PAGE = 50;
const DEFAULT_PER_PAGE = 20;
/** A row may have a megabyte, and the runtime sends at most 32 MiB in one call of an object. */
const ROWS_OF_CALL = 10;

type Logs = Omit<LogCalls, "append">;

export const ComparisonsQuery = lazy(() => z.strictObject(pageFields(MAX_PER_PAGE, DEFAULT_PER_PAGE)));

/** The page in the query of the address. Throws for other fields. */
export const comparisonsQuery = (c: Context) => parseFields(ComparisonsQuery(), c.req.query(), "query");

/** The logs of the gateway in the address. Throws 7002 for an unknown gateway. */
export async function requireLogs(c: Context, call: AppCall): Promise<Logs> {
	const gateway = pathParameter(c, "gateway");
	const logs = await logsOf({ caller: call.caller, gateway }, call.services);
	if (logs) return logs;
	throw await gatewayNotFound(gateway, call);
}

/** A page of the comparisons of a source. */
export async function comparisonsOf(
	source: string,
	query: ReturnType<typeof comparisonsQuery>,
	logs: Pick<Logs, "comparisons">,
): Promise<Response> {
	const { page, per_page } = query;
	const texts: string[] = [];
	let total = 0;
	for (let left = per_page; left > 0; left -= ROWS_OF_CALL) {
		const limit = Math.min(left, ROWS_OF_CALL);
		const offset = page * per_page - left;
		const part = await logs.comparisons({ source, offset, limit });
		texts.push(...part.texts);
		total = part.total;
		if (part.texts.length < limit) break;
	}
	return envelope(texts.map(comparisonJson), { result_info: pageInfo(query, texts.length, total) });
}

function comparisonJson(text: string): object {
	const comparison = parseJson(text) as Comparison;
	return { created_at: new Date(timeOfId(comparison.log)).toISOString(), ...comparison };
}
