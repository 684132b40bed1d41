/** Creates and cancels batches, for all APIs. */
import { AiError } from "../../core/errors.ts";
import { inBoundGateway } from "../../gateways/run/bound-caller.ts";
import { gatewayOfHeaders } from "../../gateways/run/model-in-gateway.ts";
import { identifyCaller } from "../../http/authenticate.ts";
import { batchItem } from "../../jobs/batches/batch-item.ts";
import { type BatchRecord, hasEnded } from "../../jobs/batches/records.ts";
import type { AppCall } from "../route.ts";

/** A credential is no part of a stored request. */
const KEPT_HEADER = /^(?:cf-aig-(?!authorization)|x-ganglion-(?!priority)|anthropic-beta$)/;

/** Resolves when the batch is durable and in the queue. */
export async function createBatch(
	record: BatchRecord,
	headers: Headers,
	{ caller, services }: AppCall,
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
	if (!(await jobs.batches(account, (batches) => batches.create(record, request, bounds))))
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
