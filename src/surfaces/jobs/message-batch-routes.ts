/**
 * Routes of Anthropic's message batches (platform.claude.com/docs/en/build-with-claude/batch-processing).
 *
 * Differences: the requests of a batch have at most `json_bytes` of `LIMITS` together. `waiting` tells why no request starts. A batch and its
 * results are kept for 29 days after its end.
 */
import type { Context } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { parseFields } from "../../http/account-request.ts";
import { readJson } from "../../http/body.ts";
import { REQUEST_ID } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { type BatchesQuery, type BatchRecord, hasEnded } from "../../jobs/batches/records.ts";
import { answer } from "../answer.ts";
import type { AppCall, AppRouteDeclaration } from "../route.ts";
import {
	batchResults,
	cancelBatch,
	createInlineBatch,
	deleteBatch,
	findBatch,
	inlineRecord,
	listBatches,
} from "./manage-batch.ts";
import { messageBatch } from "./message-batch-format.ts";

const MESSAGES_ENDPOINT = "/messages";
const MAX_REQUESTS = 100_000;
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1_000;

/** The requests are validated when they run, without these fields. */
const Params = lazy(() =>
	z.looseObject({
		stream: z.literal(false, "expected false: a batch has no streams").optional(),
		max_tokens: z
			.unknown()
			.refine((value) => value !== 0, "expected at least 1: a batch warms no cache")
			.optional(),
	}),
);
const NewBatch = lazy(() =>
	z.object({
		requests: z
			.array(
				z.object({
					custom_id: z
						.string()
						.regex(/^[a-zA-Z0-9_-]{1,64}$/, "expected 1 to 64 characters of a-z, A-Z, 0-9, _ and -"),
					params: Params(),
				}),
			)
			.min(1)
			.max(MAX_REQUESTS),
	}),
);

const PageQuery = lazy(() =>
	z.object({
		after_id: z.string().optional(),
		before_id: z.string().optional(),
		limit: z
			.string()
			.regex(/^[1-9]\d{0,3}$/, `expected a whole number from 1 to ${MAX_LIMIT}`)
			.transform(Number)
			.pipe(z.number().max(MAX_LIMIT))
			.default(DEFAULT_LIMIT),
	}),
);

/** `messages`: the path of the route of Messages. */
export function messageBatchRoutes(messages: string): AppRouteDeclaration[] {
	const batches = `${messages}/batches`;
	const batch = `${batches}/:message_batch`;
	return [
		{
			method: "POST",
			path: batches,
			summary: "Creates a batch of requests for /messages",
			permission: "run",
			input: {
				type: "application/json",
				schema: NewBatch,
				example: {
					requests: [
						{
							custom_id: "one",
							params: {
								model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
								max_tokens: 64,
								messages: [{ role: "user", content: "One word for joy?" }],
							},
						},
					],
				},
			},
			output: answer("messageBatchAnswer"),
			handler: create,
		},
		{
			method: "GET",
			path: batches,
			summary: "Lists message batches, the newest first",
			permission: "run",
			query: PageQuery,
			output: answer("messageBatchesAnswer"),
			handler: list,
		},
		{
			method: "GET",
			path: batch,
			summary: "Shows a message batch",
			permission: "run",
			output: answer("messageBatchAnswer"),
			handler: async (c, call) => reply(call, shown(c, call, await find(c, call))),
		},
		{
			method: "DELETE",
			path: batch,
			summary: "Deletes a message batch that has ended",
			permission: "run",
			output: answer("messageBatchDeletionAnswer"),
			handler: remove,
		},
		{
			method: "POST",
			path: `${batch}/cancel`,
			summary: "Cancels a message batch; requests that run may succeed",
			permission: "run",
			output: answer("messageBatchAnswer"),
			handler: async (c, call) => reply(call, shown(c, call, await cancelBatch(await find(c, call), call))),
		},
		{
			method: "GET",
			path: `${batch}/results`,
			summary: "Reads the results of a message batch, as JSON lines",
			permission: "run",
			output: { type: "application/x-jsonl" },
			handler: results,
		},
	];
}

const reply = ({ id }: AppCall, value: object): Response =>
	Response.json(value, { headers: { [REQUEST_ID]: id, "request-id": id } });

/**
 * Clients send their key to the address of the results, so it is that of this request, or `PUBLIC_URL`: behind a proxy that ends TLS,
 * the request has `http:`.
 */
function shown({ req }: Pick<Context, "req">, { services }: AppCall, record: BatchRecord): object {
	const { origin: sentTo, pathname } = new URL(req.url);
	const origin = services.publicUrl ?? sentTo;
	return messageBatch(record, `${origin}${/^.*\/messages\/batches/.exec(pathname)?.[0] ?? ""}`);
}

const find = (c: Context, call: AppCall): Promise<BatchRecord> =>
	findBatch(pathParameter(c, "message_batch"), "anthropic", call);

async function create(c: Context, call: AppCall): Promise<Response> {
	const { services } = call;
	const { requests } = parseFields(NewBatch(), await readJson(c.req.raw, services), "body");
	const ids = new Set<string>();
	for (const [index, { custom_id }] of requests.entries()) {
		if (ids.has(custom_id))
			throw new AiError("invalidRequest", `requests[${index}].custom_id: another request has this id`);
		ids.add(custom_id);
	}
	const models = new Set(requests.map(({ params }) => params.model));
	const [model] = models.size === 1 ? models : [];
	const record = inlineRecord(
		{
			id: `msgbatch_${services.uuid().replaceAll("-", "")}`,
			...{ api: "anthropic", endpoint: MESSAGES_ENDPOINT, total: requests.length },
			model: typeof model === "string" ? model : undefined,
		},
		call,
	);
	const lines = requests.map(({ custom_id, params }) => ({ customId: custom_id, body: params }));
	await createInlineBatch(record, { headers: c.req.raw.headers, requests: lines }, call);
	return reply(call, shown(c, call, record));
}

async function list(c: Context, call: AppCall): Promise<Response> {
	const { after_id, before_id, limit } = parseFields(PageQuery(), c.req.query(), "query");
	if (after_id !== undefined && before_id !== undefined)
		throw new AiError("invalidRequest", "before_id: expected nothing beside after_id, found an id");
	const query: BatchesQuery = {
		...{ api: "anthropic", limit },
		...(after_id !== undefined && { after: after_id }),
		...(before_id !== undefined && { before: before_id }),
	};
	const { batches, hasMore } = await listBatches(query, call);
	return reply(call, {
		data: batches.map((record) => shown(c, call, record)),
		first_id: batches[0]?.id ?? null,
		last_id: batches.at(-1)?.id ?? null,
		has_more: hasMore,
	});
}

async function remove(c: Context, call: AppCall): Promise<Response> {
	const record = await find(c, call);
	await deleteBatch(record, call);
	return reply(call, { id: record.id, type: "message_batch_deleted" });
}

async function results(c: Context, call: AppCall): Promise<Response> {
	const record = await find(c, call);
	const body = await batchResults(record, call, c.req.raw.signal);
	if (!hasEnded(record) || !body) {
		const problem = hasEnded(record) ? "has no results" : "has not ended: its results_url is null until then";
		throw new AiError("invalidRequest", `The batch ${record.id} ${problem}`);
	}
	return new Response(body, {
		headers: { "content-type": "application/x-jsonl", [REQUEST_ID]: call.id, "request-id": call.id },
	});
}
