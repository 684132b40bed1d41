/** The operations on the jobs of an instance, as the bindings and the REST routes have them. */
import { searchFailure } from "../../retrieval/search/failures.ts";
import { SYNC_COOLDOWN_MS } from "../../retrieval/search/limits.ts";
import type { JobLog, Page, SearchJob } from "../../retrieval/search/records.ts";
import type { InstanceCall } from "./item-operations.ts";

interface PageRange {
	page: number;
	per_page: number;
}

/** Throws 7020. */
export async function startJob(
	description: string | undefined,
	{ instance, services }: InstanceCall,
): Promise<SearchJob> {
	const startedAt = services.now();
	const job: SearchJob = {
		...{ id: crypto.randomUUID(), source: "user", startedAt, seenAt: startedAt },
		...(description !== undefined && { description }),
	};
	const started = await instance.call((object) => object.startJob(job, SYNC_COOLDOWN_MS));
	if (!started) throw searchFailure("searchSyncCooldown");
	return started;
}

export const listJobs = (
	{ page, per_page: limit }: PageRange,
	{ instance }: InstanceCall,
): Promise<Page<SearchJob>> => instance.call((object) => object.jobs(limit, (page - 1) * limit));

/** Throws 7021. */
export async function requireJob(id: string, { instance }: InstanceCall): Promise<SearchJob> {
	const job = await instance.call((object) => object.job(id));
	if (!job) throw searchFailure("searchJobNotFound");
	return job;
}

/** Throws 7021, 7046. */
export async function cancelJob(id: string, { instance, services }: InstanceCall): Promise<SearchJob> {
	const job = await instance.call((object) => object.cancelJob(id, services.now()));
	if (job === undefined) throw searchFailure("searchJobNotFound");
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
