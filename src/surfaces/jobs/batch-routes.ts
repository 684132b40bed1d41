/**
 * Routes of OpenAI's batches (platform.openai.com/docs/api-reference/batch).
 *
 * Differences: `waiting` tells why no line starts; `usage` also has what the account pays in neurons, and the price without the discount.
 */
import type { Context } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { parseFields, readFields } from "../../http/account-request.ts";
import { AUTHORIZATION, AZURE_KEY, GEMINI_KEYS } from "../../http/credentials.ts";
import { REQUEST_ID } from "../../http/envelope.ts";
import { failureOfClient, GOOGLE_KEY, openAiFailure } from "../../http/failure-formats.ts";
import { pathParameter } from "../../http/route.ts";
import type { BatchRecord } from "../../jobs/batches/records.ts";
import { NO_USAGE } from "../../jobs/batches/records.ts";
import { foundJob } from "../../jobs/client/jobs.ts";
import { fileKey } from "../../jobs/records.ts";
import { inScope, scopeOf } from "../../responses/client/stored-responses.ts";
import { answer } from "../answer.ts";
import type { AppCall, AppRouteDeclaration } from "../route.ts";
import { openAiBatch } from "./batch-format.ts";
import { listGeminiBatches } from "./gemini-batch-routes.ts";
import { cancelBatch, createBatch, findBatch, listBatches, WINDOW_MS } from "./manage-batch.ts";

const SECOND_MS = 1_000;
const MIN_EXPIRY_SECONDS = 3_600;
const MAX_EXPIRY_SECONDS = 2_592_000;
const MAX_PAIRS = 16;
const MAX_KEY_CHARACTERS = 64;
const MAX_VALUE_CHARACTERS = 512;
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

const ENDPOINTS = [
	"/v1/chat/completions",
	"/v1/responses",
	"/v1/embeddings",
	"/v1/completions",
	"/v1/moderations",
	"/v1/images/generations",
] as const;

const NewBatch = lazy(() =>
	z.object({
		input_file_id: z.string().min(1),
		endpoint: z.enum(ENDPOINTS),
		completion_window: z.literal("24h"),
		metadata: z
			.record(z.string().max(MAX_KEY_CHARACTERS), z.string().max(MAX_VALUE_CHARACTERS))
			.refine((pairs) => Object.keys(pairs).length <= MAX_PAIRS, `expected at most ${MAX_PAIRS} pairs`)
			.nullish(),
		output_expires_after: z
			.object({
				anchor: z.literal("created_at"),
				seconds: z.int().min(MIN_EXPIRY_SECONDS).max(MAX_EXPIRY_SECONDS),
			})
			.nullish(),
	}),
);

const PageQuery = lazy(() =>
	z.object({
		after: z.string().optional(),
		limit: z
			.string()
			.regex(/^[1-9]\d{0,2}$/, `expected a whole number from 1 to ${MAX_LIMIT}`)
			.transform(Number)
			.pipe(z.number().max(MAX_LIMIT))
			.default(DEFAULT_LIMIT),
	}),
);

/** Ids have a prefix, because paths of AI Gateway are also below `/v1`. */
const BATCH = "/batches/:batch{batch[^/]*}";
const common = { permission: "run", failure: openAiFailure } as const;

export const BATCHES: readonly AppRouteDeclaration[] = [
	{
		...common,
		method: "POST",
		path: "/batches",
		summary: "Creates a batch of the requests of a file",
		input: {
			type: "application/json",
			schema: NewBatch,
			example: {
				input_file_id: "file-0199a0de6b7a7c3e9f0b2f4b6c8d0e1f",
				endpoint: "/v1/chat/completions",
				completion_window: "24h",
			},
		},
		output: answer("batchAnswer"),
		handler: create,
	},
	{
		...common,
		method: "GET",
		path: "/batches",
		summary: "Lists batches, the newest first",
		// The SDK of Google sends it to the same address.
		credentials: [AUTHORIZATION, AZURE_KEY, ...GEMINI_KEYS],
		failure: failureOfClient,
		query: PageQuery,
		output: answer("batchesAnswer"),
		handler: list,
	},
	{
		...common,
		method: "GET",
		path: BATCH,
		summary: "Shows a batch",
		output: answer("batchAnswer"),
		handler: async (c, call) => reply(call, openAiBatch(await find(c, call))),
	},
	{
		...common,
		method: "POST",
		path: `${BATCH}/cancel`,
		summary: "Cancels a batch; the results so far are stored",
		output: answer("batchAnswer"),
		handler: async (c, call) => reply(call, openAiBatch(await cancelBatch(await find(c, call), call))),
	},
];

const reply = ({ id }: AppCall, value: object): Response =>
	Response.json(value, { headers: { [REQUEST_ID]: id, "x-request-id": id } });

async function create(c: Context, call: AppCall): Promise<Response> {
	const { caller, services } = call;
	const fields = await readFields(NewBatch(), c.req.raw, services);
	const { input_file_id: id, endpoint, metadata, output_expires_after: expiry } = fields;
	const file = foundJob(
		await inScope(
			caller,
			(scope) => services.jobs.files(caller.account, (files) => files.get(id, scope)),
			services,
		),
		{ field: "input_file_id" },
	);
	if (file.purpose !== "batch")
		throw new AiError(
			"invalidRequest",
			`input_file_id: expected a file of the purpose batch, found one of ${file.purpose}`,
		);
	const now = Date.now();
	const record: BatchRecord = {
		id: `batch_${services.uuid().replaceAll("-", "")}`,
		owner: scopeOf(caller).owner,
		api: "openai",
		endpoint: endpoint.slice("/v1".length),
		inputKey: fileKey(id),
		inputFile: id,
		status: "validating",
		createdAt: now,
		expiresAt: now + WINDOW_MS,
		...{ total: 0, succeeded: 0, failed: 0, unfinished: 0, mistakes: [], usage: NO_USAGE },
		...(expiry && { outputExpiryMs: expiry.seconds * SECOND_MS }),
		...(metadata && { metadata }),
	};
	await createBatch(record, { headers: c.req.raw.headers }, call);
	return reply(call, openAiBatch(record));
}

const find = (c: Context, call: AppCall): Promise<BatchRecord> =>
	findBatch(pathParameter(c, "batch"), "openai", call);

async function list(c: Context, call: AppCall): Promise<Response> {
	if (c.req.header(GOOGLE_KEY) !== undefined) return listGeminiBatches(c, call);
	const { after, limit } = parseFields(PageQuery(), c.req.query(), "query");
	const { batches, hasMore } = await listBatches(
		{ api: "openai", limit, ...(after !== undefined && { after }) },
		call,
	);
	return reply(call, {
		object: "list",
		data: batches.map(openAiBatch),
		first_id: batches[0]?.id ?? null,
		last_id: batches.at(-1)?.id ?? null,
		has_more: hasMore,
	});
}
