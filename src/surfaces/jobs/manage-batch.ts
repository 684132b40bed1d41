/** Creates, finds, lists, cancels and deletes batches, for all APIs. */
import { AiError } from "../../core/errors.ts";
import { inBoundGateway } from "../../gateways/run/bound-caller.ts";
import { gatewayOfHeaders } from "../../gateways/run/model-in-gateway.ts";
import { identifyCaller } from "../../http/authenticate.ts";
import { heldBody } from "../../http/held-body.ts";
import { batchItem } from "../../jobs/batches/batch-item.ts";
import {
	type BatchApi,
	type BatchesPage,
	type BatchesQuery,
	type BatchRecord,
	hasEnded,
	type NewLine,
	NO_USAGE,
} from "../../jobs/batches/records.ts";
import { foundJob, foundPage, listScope, noSuchBatch } from "../../jobs/client/jobs.ts";
import { fileKey, ownInputKey } from "../../jobs/records.ts";
import { concat } from "../../media/bytes.ts";
import { inScope, scopeOf } from "../../responses/client/stored-responses.ts";
import type { AppCall } from "../route.ts";
import { deleteBytes } from "./delete-bytes.ts";

/** The caller, who is verified, and the services. */
export type BatchCall = Pick<AppCall, "caller" | "services">;

/** As in OpenAI's and Anthropic's APIs. */
export const WINDOW_MS = 24 * 60 * 60_000;

/** Of the refusal of a batch while too many are open. */
const FULL_SECONDS = 60;

/** A credential is no part of a stored request. */
const KEPT_HEADER = /^(?:cf-aig-(?!authorization)|x-ganglion-(?!priority)|anthropic-beta$)/;

/** Resolves when the batch is durable and in the queue. `lines`: of an input that is stored and valid. */
export async function createBatch(
	record: BatchRecord,
	{ headers, lines = [] }: { headers: Headers; lines?: readonly NewLine[] },
	{ caller, services }: BatchCall,
): Promise<void> {
	const { jobs, storage } = services;
	const { account, credential } = caller;
	const named = gatewayOfHeaders(headers);
	if (named !== undefined) inBoundGateway(await identifyCaller(caller, services.ledgers), named);
	const request = {
		caller: { account, credential },
		headers: [...headers].filter(([name]) => KEPT_HEADER.test(name)),
	};
	const { bounds } = jobs;
	if (!(await jobs.batches(account, (batches) => batches.create(record, { request, lines }, bounds))))
		throw new AiError(
			"storageFull",
			record.api === "replay"
				? `The account has at most ${bounds.maxReplays} replays (JOBS.max_replays), and ${bounds.maxBatches} batches that have not ended: delete or cancel some`
				: `The account has at most ${bounds.maxBatches} batches that have not ended: wait, or cancel some`,
			{ retryAfter: FULL_SECONDS },
		);
	// If the process ends before that, the account's object enqueues it.
	await storage.queue.enqueue(batchItem(account, record.id)).catch(async (refusal) => {
		await jobs.batches(account, (batches) => batches.forget(record.id));
		throw refusal;
	});
}

interface InlineBatch {
	id: string;
	api: BatchApi;
	endpoint: string;
	/** Of all requests. Absent: they may have different ones. */
	model?: string | undefined;
	total: number;
	displayName?: string | undefined;
}

/** The record of a batch whose requests were sent with the request that creates it. */
export function inlineRecord(
	{ id, api, endpoint, model, total, displayName }: InlineBatch,
	{ caller }: BatchCall,
): BatchRecord {
	const now = Date.now();
	return {
		...{ id, owner: scopeOf(caller).owner, api, endpoint, inputKey: ownInputKey(id), total },
		...{ status: "in_progress", createdAt: now, inProgressAt: now, expiresAt: now + WINDOW_MS },
		...{ succeeded: 0, failed: 0, unfinished: 0, mistakes: [], usage: NO_USAGE },
		...(model !== undefined && { model }),
		...(displayName !== undefined && { metadata: { displayName } }),
	};
}

/** Requests that were sent with the request that creates their batch. `body`: the input of the line. */
export async function createInlineBatch(
	record: BatchRecord,
	{ headers, requests }: { headers: Headers; requests: readonly { customId: string; body: object }[] },
	call: BatchCall,
): Promise<void> {
	const blobs = call.services.storage.blobs(call.caller.account);
	const encoder = new TextEncoder();
	const lines: NewLine[] = [];
	const pieces: Uint8Array[] = [];
	let offset = 0;
	for (const [index, { customId, body }] of requests.entries()) {
		const bytes = encoder.encode(`${JSON.stringify({ body })}\n`);
		lines.push({ line: index + 1, customId, offset, length: bytes.length - 1 });
		pieces.push(bytes);
		offset += bytes.length;
	}
	const key = ownInputKey(record.id);
	await blobs.put(key, concat(pieces));
	try {
		await createBatch(record, { headers, lines }, call);
	} catch (thrown) {
		await blobs.delete(key);
		throw thrown;
	}
}

/** Throws 404 if the caller cannot see it. */
export async function findBatch(
	id: string,
	api: BatchApi,
	{ caller, services }: BatchCall,
): Promise<BatchRecord> {
	const found = await inScope(
		caller,
		(scope) => services.jobs.batches(caller.account, (batches) => batches.get(id, api, scope)),
		services,
	);
	return foundJob(found, { api });
}

export async function listBatches(
	query: BatchesQuery,
	{ caller, services }: BatchCall,
): Promise<BatchesPage> {
	const scope = await listScope(caller, services);
	return foundPage(
		await services.jobs.batches(caller.account, (stored) => stored.list(query, scope)),
		"batch",
		query,
	);
}

/**
 * The results of a batch that has ended, as one stream of lines. `signal`: fires when the caller leaves. `undefined`: they were deleted,
 * or the batch has failed.
 */
export async function batchResults(
	{ outputFile }: BatchRecord,
	{ caller: { account }, services }: BatchCall,
	signal?: AbortSignal,
): Promise<ReadableStream<Uint8Array> | undefined> {
	if (outputFile === undefined) return undefined;
	const reader = { account, ...(signal && { signal }) };
	const stored = await heldBody(reader, () => services.storage.blobs(account).get(fileKey(outputFile)));
	return stored?.body;
}

/** Deletes a batch that has ended, with its requests and results. */
export async function deleteBatch(record: BatchRecord, call: AppCall): Promise<void> {
	const { caller, services } = call;
	const { id, outputFile } = record;
	if (!hasEnded(record))
		throw new AiError("invalidRequest", `The batch ${id} has not ended: cancel it, and wait for its end`);
	const keys = [ownInputKey(id), ...(outputFile === undefined ? [] : [fileKey(outputFile)])];
	const { account } = caller;
	await services.jobs.batches(account, (batches) => batches.hide(id));
	await deleteBytes(async () => {
		await services.storage.blobs(account).delete(keys);
		await services.jobs.batches(account, (batches) => batches.forget(id));
	}, call);
}

/** A batch that waits starts at once, to store its results. */
export async function cancelBatch(
	{ api, id }: BatchRecord,
	{ caller, services }: BatchCall,
): Promise<BatchRecord> {
	const { jobs, storage, uuid } = services;
	const { account } = caller;
	const record = await jobs.batches(account, (batches) => batches.cancel(id));
	if (!record) throw noSuchBatch(id, api);
	if (!hasEnded(record)) {
		const status = await storage.queue.status(batchItem(account, id));
		if (status?.state !== "running") await storage.queue.enqueue(batchItem(account, id, uuid()));
	}
	return record;
}
