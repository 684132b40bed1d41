/**
 * Replays of logs: `…/ai-gateway/gateways/{gateway}/replay`. Not in the product. A replay is a batch whose lines are logs. It reads and shows
 * contents of requests, so its routes need the permission to write, as those of the contents of a log.
 */
import type { Context } from "hono";
import * as z from "zod";
import { MICRO_NEURONS } from "../../accounts/admission.ts";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { OPENAI_CHAT, onlyFor } from "../../dialects/route-dialect.ts";
import { LogFilters } from "../../gateways/logs/query.ts";
import { requireGateway } from "../../gateways/run/bound-caller.ts";
import { choosesModel } from "../../gateways/run/model-in-gateway.ts";
import { isProviderModel } from "../../gateways/run/provider-names.ts";
import { readFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { type BatchRecord, hasEnded } from "../../jobs/batches/records.ts";
import { noSuchBatch } from "../../jobs/client/jobs.ts";
import { requireKey, resolveModel } from "../../pipeline/resolve-model.ts";
import { answer } from "../answer.ts";
import { below } from "../bases.ts";
import { logsOf } from "../gateway/log-access.ts";
import { GATEWAYS, managementFailure } from "../gateway/management.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import { ComparisonsQuery, comparisonsOf, comparisonsQuery, requireLogs } from "./comparisons.ts";
import {
	cancelBatch,
	createInlineBatch,
	deleteBatch,
	findBatch,
	inlineRecord,
	listBatches,
} from "./manage-batch.ts";
import { REPLAY_ENDPOINT, type ReplayedLine } from "./replay-line.ts";
import { unloggedHeaders } from "./unlogged-run.ts";

const MAX_LOGS = 1_000;
const DEFAULT_LOGS = 100;
const MAX_MODEL = 256;

const model = lazy(() => z.string().min(1).max(MAX_MODEL));
const NewReplay = lazy(() =>
	z.strictObject({
		model: model(),
		judge: model().optional(),
		filters: LogFilters().default([]),
		search: z.string().max(1_000).optional(),
		limit: z.int().min(1).max(MAX_LOGS).default(DEFAULT_LOGS),
		order_by_direction: z.enum(["asc", "desc"]).default("desc"),
	}),
);

const REPLAY = "/:replay";

export const replayRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(GATEWAYS, "/:gateway/replay")], tag: "AI Gateway", failure: managementFailure },
	[
		{
			method: "POST",
			path: "",
			summary: "Sends requests of the log again, to another model",
			permission: "write",
			input: {
				type: "application/json",
				schema: NewReplay,
				example: {
					model: "@cf/meta/llama-3.1-8b-instruct-fp8",
					filters: [{ key: "success", operator: "eq", value: [true] }],
					limit: 100,
				},
			},
			output: answer("replayAnswer"),
			handler: create,
		},
		{
			method: "GET",
			path: "",
			summary: "Lists the replays of a gateway, the newest first",
			permission: "write",
			output: answer("replaysAnswer"),
			handler: list,
		},
		{
			method: "GET",
			path: REPLAY,
			summary: "Shows a replay",
			permission: "write",
			output: answer("replayAnswer"),
			handler: async (c, call) => envelope(replayJson(await find(c, call))),
		},
		{
			method: "GET",
			path: `${REPLAY}/results`,
			summary: "Shows answers beside those of the log",
			permission: "write",
			query: ComparisonsQuery,
			output: answer("replayResultsAnswer"),
			handler: results,
		},
		{
			method: "POST",
			path: `${REPLAY}/cancel`,
			summary: "Cancels a replay; its results so far are kept",
			permission: "write",
			output: answer("replayAnswer"),
			handler: async (c, call) => envelope(replayJson(await cancelBatch(await find(c, call), call))),
		},
		{
			method: "DELETE",
			path: REPLAY,
			summary: "Deletes a replay that has ended, with its results",
			permission: "write",
			output: answer("replayDeletionAnswer"),
			handler: remove,
		},
	],
);

const instant = (time: number | undefined): string | null =>
	time === undefined ? null : new Date(time).toISOString();

const replayJson = (record: BatchRecord): object => {
	const { id, replay, status, succeeded, failed, total, usage, waiting } = record;
	return {
		id,
		gateway: replay?.gateway ?? "",
		model: record.model ?? "",
		judge: replay?.judge ?? null,
		status,
		logs: { total, completed: succeeded, failed },
		created_at: instant(record.createdAt),
		ended_at: hasEnded(record) ? instant(record.endedAt) : null,
		usage: {
			input_tokens: usage.inputTokens,
			output_tokens: usage.outputTokens,
			neurons: usage.microNeurons / MICRO_NEURONS,
			neurons_without_discount: usage.fullMicroNeurons / MICRO_NEURONS,
		},
		...(waiting && {
			waiting: { code: waiting.code, message: waiting.message, until: instant(waiting.until) },
		}),
	};
};

async function create(c: Context, call: AppCall): Promise<Response> {
	const { services } = call;
	const fields = await readFields(NewReplay(), c.req.raw, services);
	const { judge, filters, search, limit, order_by_direction: direction } = fields;
	const gateway = pathParameter(c, "gateway");
	const logs = await requireLogs(c, call);
	for (const named of [fields.model, judge]) if (named !== undefined) await requireChat(named, call);
	const ids = await logs.replayable({ filters, search, orderBy: "created_at", direction }, limit);
	if (ids.length === 0)
		throw new AiError(
			"invalidRequest",
			"No log of a text model with these filters has the complete contents of its request and its answer",
		);
	const record: BatchRecord = {
		...inlineRecord(
			{
				...{ id: services.uuid(), api: "replay", endpoint: REPLAY_ENDPOINT },
				...{ model: fields.model, total: ids.length },
			},
			call,
		),
		replay: { gateway, ...(judge !== undefined && { judge }) },
	};
	const requests = ids.map((log) => {
		const body: ReplayedLine = { log, model: fields.model, ...(judge !== undefined && { judge }) };
		return { customId: log, body };
	});
	const headers = unloggedHeaders(gateway);
	await createInlineBatch(record, { headers, requests }, call);
	return envelope(replayJson(record));
}

/** Throws the failure that each line would have. A gateway may have a key for a provider's model, or choose the model itself. */
async function requireChat(named: string, { caller, services }: AppCall): Promise<void> {
	if (isProviderModel(named) || choosesModel(named)) return;
	const resolved = await resolveModel(named, caller, services);
	await onlyFor(OPENAI_CHAT)(resolved.model);
	requireKey(resolved);
}

/** Also of a gateway that was deleted: its replays can be deleted, too. */
async function list(c: Context, call: AppCall): Promise<Response> {
	const gateway = pathParameter(c, "gateway");
	await requireGateway(call.caller, gateway, call.services);
	const limit = call.services.jobs.bounds.maxReplays;
	const { batches } = await listBatches({ api: "replay", limit }, call);
	return envelope(batches.filter(({ replay }) => replay?.gateway === gateway).map(replayJson));
}

/** Throws 7002. */
async function find(c: Context, call: AppCall): Promise<BatchRecord> {
	const gateway = pathParameter(c, "gateway");
	await requireGateway(call.caller, gateway, call.services);
	const id = pathParameter(c, "replay");
	const record = await findBatch(id, "replay", call);
	if (record.replay?.gateway !== gateway) throw noSuchBatch(id, "replay");
	return record;
}

async function results(c: Context, call: AppCall): Promise<Response> {
	const query = comparisonsQuery(c);
	const { id } = await find(c, call);
	return comparisonsOf(id, query, await requireLogs(c, call));
}

async function remove(c: Context, call: AppCall): Promise<Response> {
	const record = await find(c, call);
	if (!hasEnded(record))
		throw new AiError("invalidRequest", "The replay has not ended: cancel it, and wait for its end");
	// Before the record, so that no results remain without it.
	const { caller, services } = call;
	const logs = await logsOf({ caller, gateway: pathParameter(c, "gateway") }, services);
	await logs?.deleteComparisons(record.id);
	await deleteBatch(record, call);
	return envelope({ id: record.id });
}
