/**
 * Routes of the batches of Google's Gemini API (ai.google.dev/gemini-api/docs/batch-api), with the requests in the body of the creation.
 *
 * Differences: files are no input. The requests of a batch have at most `json_bytes` of `LIMITS` together. A list has no results, and a batch
 * that has not ended cannot be deleted.
 */
import type { Context } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { parseFields } from "../../http/account-request.ts";
import { identifyCaller } from "../../http/authenticate.ts";
import { readJson } from "../../http/body.ts";
import { REQUEST_ID } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { type BatchRecord, hasEnded } from "../../jobs/batches/records.ts";
import { answer } from "../answer.ts";
import type { AppCall, AppRouteDeclaration } from "../route.ts";
import { geminiBatch, geminiEndpoint, resultsFrame } from "./gemini-batch-format.ts";
import {
	type BatchCall,
	batchResults,
	cancelBatch,
	createInlineBatch,
	deleteBatch,
	findBatch,
	inlineRecord,
	listBatches,
} from "./manage-batch.ts";
import { commaSeparated, joined } from "./stored-lines.ts";

const MAX_REQUESTS = 50_000;
const MAX_NAME_CHARACTERS = 256;
const DEFAULT_PAGE = 50;
const MAX_PAGE = 1_000;
const CANCEL = ":cancel";

const NewBatch = lazy(() =>
	z.object({
		batch: z.object({
			displayName: z.string().max(MAX_NAME_CHARACTERS).optional(),
			inputConfig: z.object({
				fileName: z.undefined("files are no input of batches here: send the requests in requests").optional(),
				file_name: z
					.undefined("files are no input of batches here: send the requests in requests")
					.optional(),
				requests: z.object({
					requests: z
						.array(
							z.object({
								request: z.looseObject({}),
								metadata: z.looseObject({}).optional(),
							}),
						)
						.min(1)
						.max(MAX_REQUESTS),
				}),
			}),
		}),
	}),
);

const PageQuery = lazy(() =>
	z.object({
		pageSize: z
			.string()
			.regex(/^\d{1,6}$/, "expected a whole number")
			.transform((size) => Math.min(Number(size) || DEFAULT_PAGE, MAX_PAGE))
			.default(DEFAULT_PAGE),
		pageToken: z.string().optional(),
	}),
);

/** OpenAI's ids have another prefix, because both are below `/v1`. */
const BATCH = "/batches/:gemini_batch{gemini-[^/]*}";

export const GEMINI_SINGLE_BATCHES: readonly AppRouteDeclaration[] = [
	{
		method: "GET",
		path: BATCH,
		summary: "Shows a batch of Gemini's API, with its results when it has ended",
		permission: "run",
		output: answer("geminiBatchAnswer"),
		handler: show,
	},
	{
		method: "DELETE",
		path: BATCH,
		summary: "Deletes a batch of Gemini's API that has ended",
		permission: "run",
		output: answer("geminiEmptyAnswer"),
		handler: async (c, call) => {
			await deleteBatch(await find(pathParameter(c, "gemini_batch"), call), call);
			return reply(call, {});
		},
	},
	{
		method: "POST",
		path: BATCH,
		summary: "Cancels a batch of Gemini's API: {batch}:cancel",
		permission: "run",
		output: answer("geminiEmptyAnswer"),
		handler: cancel,
	},
];

export const GEMINI_BATCHES: readonly AppRouteDeclaration[] = [
	{
		method: "GET",
		path: "/batches",
		summary: "Lists batches of Gemini's API, the newest first",
		permission: "run",
		query: PageQuery,
		output: answer("geminiBatchesAnswer"),
		handler: listGeminiBatches,
	},
	...GEMINI_SINGLE_BATCHES,
];

const reply = ({ id }: Pick<AppCall, "id">, value: object): Response =>
	Response.json(value, { headers: { [REQUEST_ID]: id } });

const find = (id: string, call: BatchCall): Promise<BatchRecord> => findBatch(id, "gemini", call);

/** `method`: such as `batchGenerateContent`. */
export async function createGeminiBatch(
	c: Context,
	{ id: requestId, ...call }: BatchCall & Pick<AppCall, "id">,
	{ model, method }: { model: string; method: string },
): Promise<Response> {
	const { services } = call;
	const caller = await identifyCaller(call.caller, services.ledgers);
	const { batch } = parseFields(NewBatch(), await readJson(c.req.raw, services), "body");
	const { requests } = batch.inputConfig.requests;
	const record = inlineRecord(
		{
			id: `gemini-${services.uuid().replaceAll("-", "")}`,
			...{ api: "gemini", endpoint: geminiEndpoint(method), model, total: requests.length },
			displayName: batch.displayName,
		},
		{ caller, services },
	);
	const lines = requests.map(({ request, metadata = null }, index) => ({
		customId: JSON.stringify([index, metadata]),
		body: { model, request },
	}));
	await createInlineBatch(record, { headers: c.req.raw.headers, requests: lines }, { caller, services });
	return reply({ id: requestId }, geminiBatch(record));
}

async function show(c: Context, call: AppCall): Promise<Response> {
	const record = await find(pathParameter(c, "gemini_batch"), call);
	const shown = geminiBatch(record);
	const { signal } = c.req.raw;
	const inMetadata = hasEnded(record) ? await batchResults(record, call, signal) : undefined;
	if (!inMetadata) return reply(call, shown);
	const inResponse = await batchResults(record, call, signal).catch(async (thrown: unknown) => {
		await inMetadata.cancel();
		throw thrown;
	});
	if (!inResponse) return reply(call, shown);
	const { metadata, ...operation } = shown;
	const { start, end } = resultsFrame(record);
	// The SDK reads them of the metadata, and other clients of the response.
	const body = joined([
		`${JSON.stringify(operation).slice(0, -1)},"metadata":${JSON.stringify(metadata).slice(0, -1)},"output":${start}`,
		commaSeparated(inMetadata),
		`${end}},"response":${start}`,
		commaSeparated(inResponse),
		`${end}}`,
	]);
	return new Response(body, { headers: { "content-type": "application/json", [REQUEST_ID]: call.id } });
}

async function cancel(c: Context, call: AppCall): Promise<Response> {
	const named = pathParameter(c, "gemini_batch");
	if (!named.endsWith(CANCEL))
		throw new AiError("noRoute", `Unknown method of a batch: use ${CANCEL.slice(1)}`);
	await cancelBatch(await find(named.slice(0, -CANCEL.length), call), call);
	return reply(call, {});
}

export async function listGeminiBatches(c: Context, call: AppCall): Promise<Response> {
	const { pageSize, pageToken } = parseFields(PageQuery(), c.req.query(), "query");
	const { batches, hasMore } = await listBatches(
		{ api: "gemini", limit: pageSize, ...(pageToken && { after: pageToken }) },
		call,
	);
	const next = hasMore ? { nextPageToken: batches.at(-1)?.id } : {};
	return reply(call, { operations: batches.map(geminiBatch), ...next });
}
