/**
 * The logs of a gateway over REST: `…/ai-gateway/gateways/{gateway}/logs`. A list shows no content of requests. One log has the first
 * part of its bodies, and `/request` and `/response` the complete ones; these need the permission to write, because a token that only reads
 * the catalogue and usage must not read prompts.
 */
import type { Context } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { isRecord, parseJson } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import type { LogCalls } from "../../gateways/client/gateway-logs.ts";
import type { Payload } from "../../gateways/logs/log-row.ts";
import { DELETE_ORDERS, LIST_ORDERS, LogFilters } from "../../gateways/logs/query.ts";
import { parseFields, readStored } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { textFlag } from "../../schemas/text-flag.ts";
import { answer } from "../answer.ts";
import { below } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import { changeLog, logName, logsOf, readLog, readPayload } from "./log-access.ts";
import { LogPatchBody, logJson, logListJson, patchOf } from "./log-json.ts";
import { GATEWAYS, gatewayNotFound, managementFailure, pageFields, pageInfo } from "./management.ts";

const MAX_PER_PAGE = 50;
const DEFAULT_PER_PAGE = 20;
const MAX_DELETED = 100_000;

const direction = lazy(() => z.enum(["asc", "desc"]));
const count = lazy(() =>
	z
		.string()
		.regex(/^\d{1,9}$/)
		.transform(Number),
);
const date = lazy(() => z.iso.datetime({ offset: true }));

/** Older parameters, one for each field. */
const DEPRECATED = lazy(
	() =>
		({
			cached: textFlag().optional(),
			success: textFlag().optional(),
			provider: z.string().optional(),
			model: z.string().optional(),
			model_type: z.string().optional(),
			request_content_type: z.string().optional(),
			response_content_type: z.string().optional(),
			feedback: z.string().optional(),
		}) as const,
);

const filters = lazy(() => z.string().optional());
const ListQuery = lazy(() =>
	z.strictObject({
		...pageFields(MAX_PER_PAGE, DEFAULT_PER_PAGE),
		filters: filters(),
		search: z.string().max(1_000).optional(),
		order_by: z.enum(LIST_ORDERS).default("created_at"),
		order_by_direction: direction().optional(),
		meta_info: textFlag().optional(),
		...DEPRECATED(),
		start_date: date().optional(),
		end_date: date().optional(),
		direction: direction().optional(),
	}),
);
const DeleteQuery = lazy(() =>
	z.strictObject({
		filters: filters(),
		limit: count().pipe(z.number().min(1).max(MAX_DELETED)).optional(),
		order_by: z.enum(DELETE_ORDERS).default("created_at"),
		order_by_direction: direction().default("asc"),
	}),
);

export const gatewayLogRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(GATEWAYS, "/:gateway/logs")], tag: "AI Gateway", failure: managementFailure },
	[
		{
			method: "GET",
			path: "",
			summary: "Lists the logs of a gateway",
			output: answer("logsAnswer"),
			query: ListQuery,
			permission: "read",
			handler: listLogs,
		},
		{
			method: "DELETE",
			path: "",
			summary: "Deletes logs of a gateway",
			output: answer("deletedLogsAnswer"),
			query: DeleteQuery,
			permission: "gateways-write",
			handler: deleteLogs,
		},
		{
			method: "GET",
			path: "/:log",
			summary: "Shows a log",
			output: answer("logAnswer"),
			permission: "write",
			handler: async (c, call) => envelope(logJson(await readLog(logName(c, call), call.services))),
		},
		{
			method: "PATCH",
			path: "/:log",
			summary: "Sets feedback, score or metadata of a log",
			output: answer("changedLogAnswer"),
			input: { type: "application/json", schema: LogPatchBody, example: { feedback: 1, score: 90 } },
			permission: "write",
			handler: patchLog,
		},
		{
			method: "GET",
			path: "/:log/request",
			summary: "Shows the request of a log",
			permission: "write",
			// As it was sent, without an envelope.
			output: { type: "application/json" },
			handler: async (c, call) =>
				payloadResponse(await readPayload(logName(c, call), "request", call.services)),
		},
		{
			method: "GET",
			path: "/:log/response",
			summary: "Shows the response of a log",
			permission: "write",
			// As it was sent, without an envelope.
			output: { type: "application/json" },
			handler: async (c, call) =>
				payloadResponse(await readPayload(logName(c, call), "response", call.services)),
		},
	],
);

async function listLogs(c: Context, call: AppCall): Promise<Response> {
	const url = new URL(c.req.url);
	const query = parseFields(ListQuery(), plainFields(url), "query");
	const { page, per_page, search, order_by, order_by_direction, direction, meta_info } = query;
	const { rows, total } = await (await existingLogs(c, call)).logs({
		filters: parsedFilters([...filtersIn(url), ...deprecatedFilters(query)]),
		search,
		orderBy: order_by,
		direction: order_by_direction ?? direction ?? "desc",
		offset: (page - 1) * per_page,
		limit: per_page,
		counted: meta_info === true,
	});
	const info =
		total === undefined ? { page, per_page, count: rows.length } : pageInfo(query, rows.length, total);
	return envelope(rows.map(logListJson), { result_info: info });
}

async function deleteLogs(c: Context, call: AppCall): Promise<Response> {
	const url = new URL(c.req.url);
	const { limit, order_by, order_by_direction } = parseFields(DeleteQuery(), plainFields(url), "query");
	const query = { orderBy: order_by, direction: order_by_direction, limit };
	const filters = parsedFilters(filtersIn(url));
	await (await existingLogs(c, call)).deleteLogs({ ...query, filters });
	return envelope(null);
}

async function patchLog(c: Context, call: AppCall): Promise<Response> {
	const stored = await readStored(LogPatchBody(), c.req.raw, call.services);
	await changeLog(logName(c, call), patchOf(stored.fields), call.services);
	return stored.answer({});
}

/** Throws 7002 for an unknown gateway. */
async function existingLogs(c: Context, call: AppCall): Promise<Omit<LogCalls, "append">> {
	const name = logName(c, call);
	const logs = await logsOf(name, call.services);
	if (logs) return logs;
	throw await gatewayNotFound(name.gateway, call);
}

/** Text that is not complete is not JSON. A browser must not interpret the text of a model as a page of this origin. */
function payloadResponse(payload: Payload): Response {
	const isJson = payload.complete && parseJson(payload.text) !== undefined;
	return new Response(payload.text, {
		headers: {
			"content-type": isJson ? "application/json" : "text/plain; charset=utf-8",
			"x-content-type-options": "nosniff",
			"x-ganglion-complete": String(payload.complete),
		},
	});
}

const parsedFilters = (filters: unknown[]) =>
	parseFields(z.object({ filters: LogFilters() }), { filters }, "query").filters;

/** The query without the SDK's parameters of filters. */
const plainFields = ({ searchParams }: URL): Record<string, string> =>
	Object.fromEntries([...searchParams].filter(([name]) => !name.startsWith("filters.")));

/**
 * The filters as JSON, or as the `cloudflare` SDK writes them: `filters.key=…&filters.operator=…&filters.value=…`, where each
 * key begins a filter.
 */
function filtersIn({ searchParams }: URL): unknown[] {
	const json = searchParams.get("filters");
	if (json !== null) {
		const parsed = parseJson(json);
		if (!Array.isArray(parsed)) throw new AiError("invalidRequest", "filters: expected a JSON array");
		return parsed;
	}
	const filters: { key: string; operator?: string; value: string[] }[] = [];
	for (const [name, value] of searchParams) {
		const last = filters.at(-1);
		if (name === "filters.key") filters.push({ key: value, value: [] });
		else if (name === "filters.operator" && last) last.operator = value;
		else if (name === "filters.value" && last) last.value.push(value);
	}
	return filters;
}

function deprecatedFilters({
	start_date,
	end_date,
	...query
}: z.output<ReturnType<typeof ListQuery>>): object[] {
	const fields: unknown = query;
	const equal = Object.keys(DEPRECATED()).flatMap((key) => {
		const value = isRecord(fields) ? fields[key] : undefined;
		return value === undefined ? [] : [{ key, operator: "eq", value: [value] }];
	});
	const at = (text: string, difference: number): number[] => [Date.parse(text) + difference];
	return [
		...equal,
		...(start_date ? [{ key: "created_at", operator: "gt", value: at(start_date, -1) }] : []),
		...(end_date ? [{ key: "created_at", operator: "lt", value: at(end_date, 1) }] : []),
	];
}
