/** The durable work of a job: reads the source, queues what has changed, and deletes the items whose places are gone. */
import { AiError } from "../../../core/errors.ts";
import { PostponedWork, type WorkRun } from "../../../storage/queue/work.ts";
import type { OpenInstance } from "../client/search-instances.ts";
import { deleteFile } from "../item-files.ts";
import type { SearchRoomServices } from "../services.ts";
import { cleanItem, workInstance } from "../work-items.ts";
import { readBucket } from "./bucket.ts";
import { JobEnded, readingOf, SourceFailure, type SourceRun } from "./source-run.ts";
import { readWebsite } from "./website.ts";

const PAUSED_MS = 60_000;

/** Throws `PostponedWork` if the source is not read to its end yet. */
export async function syncSource(
	{ progress, signal }: Pick<WorkRun, "signal" | "progress">,
	job: string,
	instance: OpenInstance,
	services: SearchRoomServices,
): Promise<void> {
	const { config, owner } = instance.record;
	const started = await instance.call((object) => object.job(job));
	if (!started?.isReading || started.endedAt !== undefined) return;
	if (config.paused) throw new PostponedWork(PAUSED_MS);
	const { origin: source } = config;
	if (!source || !owner) return endReading({ job, instance, services }, "The instance has no source");
	const run = { job, source, owner, instance, services, signal, progress };
	try {
		if (source.type === "r2") await readBucket(run);
		else await readWebsite(run, started.startedAt);
	} catch (thrown) {
		if (thrown instanceof JobEnded) return;
		if (thrown instanceof SourceFailure) return endReading(run, thrown.message);
		if (thrown instanceof AiError && thrown.status === 413)
			return endReading(run, "The account's storage is full");
		throw thrown;
	}
	await finish(run);
}

/** The job fails. Nothing is deleted. */
export async function endReading(
	{ instance, job, services }: Pick<SourceRun, "job" | "instance" | "services">,
	reason: string,
): Promise<void> {
	await readingOf({ instance }).finish(job, { now: services.now(), reason });
}

async function finish(run: SourceRun): Promise<void> {
	const { instance, job, services } = run;
	for (;;) {
		const { deleted, isDone } = await readingOf(run).finish(job, { now: services.now() });
		for (const { content } of deleted) await deleteFile(content, instance, services);
		if (isDone) break;
	}
	const { account, record } = instance;
	const size = await instance.call((calls) => calls.size());
	await services.searchInstances.report(account, record.object, size);
	await services.storage.queue.enqueue(cleanItem(workInstance(instance))).catch(() => 0);
}
