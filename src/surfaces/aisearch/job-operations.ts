/** The operations on the jobs of an instance, as the bindings and the REST routes have them. */
import * as z from "zod";
import { toAiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { quotedName } from "../../core/not-found.ts";
import { searchFailure } from "../../retrieval/search/failures.ts";
import { SYNC_COOLDOWN_MS } from "../../retrieval/search/limits.ts";
import type { JobLog, Page, SearchJob } from "../../retrieval/search/records.ts";
import { syncItem, workInstance } from "../../retrieval/search/work-items.ts";
import type { InstanceCall } from "./item-operations.ts";

const MAX_DESCRIPTION_CHARACTERS = 255;

export const NewJob = lazy(() =>
	z.object({ description: z.string().max(MAX_DESCRIPTION_CHARACTERS).optional() }),
);

interface PageRange {
	page: number;
	per_page: number;
}

/** Throws 7020, and 7032 for a source of an instance that is paused. */
export async function startJob(
	description: string | undefined,
	{ instance, services }: InstanceCall,
	cooldownMs = SYNC_COOLDOWN_MS,
): Promise<SearchJob> {
	const { origin, paused } = instance.record.config;
	if (origin && paused) throw searchFailure("searchPaused");
	const startedAt = services.now();
	const job: SearchJob = {
		...{ id: crypto.randomUUID(), source: "user", startedAt, seenAt: startedAt },
		...(description !== undefined && { description }),
	};
	const started = await instance.call((object) => object.startJob(job, cooldownMs));
	if (!started) throw searchFailure("searchSyncCooldown");
	// If the process ends before that, or the queue is full, the instance's object enqueues it.
	if (started.isReading)
		await services.storage.queue
			.enqueue(syncItem(workInstance(instance), job.id))
			.catch((thrown) => services.log(toAiError(thrown), ""));
	return started;
}

export const listJobs = (
	{ page, per_page: limit }: PageRange,
	{ instance }: InstanceCall,
): Promise<Page<SearchJob>> => instance.call((object) => object.jobs(limit, (page - 1) * limit));

/** Throws 7021. */
export async function requireJob(id: string, { instance }: InstanceCall): Promise<SearchJob> {
	const job = await instance.call((object) => object.job(id));
	if (!job) throw searchFailure("searchJobNotFound", quotedName(id));
	return job;
}

/** Throws 7021, 7046. */
export async function cancelJob(id: string, { instance, services }: InstanceCall): Promise<SearchJob> {
	const job = await instance.call((object) => object.cancelJob(id, services.now()));
	if (job === undefined) throw searchFailure("searchJobNotFound", quotedName(id));
	if (job === false) throw searchFailure("searchJobEnded");
	return job;
}

/** Throws 7021. */
export async function jobLogs(
	id: string,
	{ page, per_page: limit }: PageRange,
	call: InstanceCall,
): Promise<Page<JobLog>> {
	await requireJob(id, call);
	return call.instance.call((object) => object.jobLogs(id, limit, (page - 1) * limit));
}
