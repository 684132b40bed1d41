/** Creates and cancels batches, for all APIs. */
import { AiError } from "../../core/errors.ts";
import { inBoundGateway } from "../../gateways/run/bound-caller.ts";
import { gatewayOfHeaders } from "../../gateways/run/model-in-gateway.ts";
import { identifyCaller } from "../../http/authenticate.ts";
import { batchItem } from "../../jobs/batches/batch-item.ts";
import { type BatchRecord, hasEnded, type NewLine } from "../../jobs/batches/records.ts";
import { ownInputKey } from "../../jobs/records.ts";
import { concat } from "../../media/bytes.ts";
import type { AppCall } from "../route.ts";

/** The caller, who is verified, and the services. */
export type BatchCall = Pick<AppCall, "caller" | "services">;

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
			`The account has at most ${bounds.maxBatches} batches that have not ended: wait, or cancel some`,
		);
	// If the process ends before that, the account's object enqueues it.
	await storage.queue.enqueue(batchItem(account, record.id)).catch(async (refusal) => {
		await jobs.batches(account, (batches) => batches.remove(record.id));
		throw refusal;
	});
}

/** Requests that were sent with the request that creates their batch. `body` has the field `model`. */
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

/** A batch that waits starts at once, to store its results. */
export async function cancelBatch({ id }: BatchRecord, { caller, services }: AppCall): Promise<BatchRecord> {
	const { jobs, storage, uuid } = services;
	const { account } = caller;
	const record = await jobs.batches(account, (batches) => batches.cancel(id));
	if (!record) throw new AiError("noSuchBatch", `No such Batch object: ${id}`);
	if (!hasEnded(record)) {
		const status = await storage.queue.status(batchItem(account, id));
		if (status?.state !== "running") await storage.queue.enqueue(batchItem(account, id, uuid()));
	}
	return record;
}
