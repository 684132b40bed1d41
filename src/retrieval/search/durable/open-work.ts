/** What the object of an instance puts into the durable queue: the queue ignores what it has. */
import type { NewWork } from "../../../storage/queue/work.ts";
import { cleanItem, ingestItem, syncItem } from "../work-items.ts";
import type { Jobs } from "./jobs.ts";
import type { SearchSetup, SearchTables } from "./search-tables.ts";

/** Items at once. */
const ENQUEUED = 500;

/** Starts the scheduled job of a source, if its time has come, and no source is being read. */
export function startDue({ source }: SearchSetup, jobs: Jobs, now: number): void {
	if (!source || jobs.reading || jobs.nextStart(source.intervalMs) > now) return;
	jobs.startReading({ ...{ id: crypto.randomUUID(), source: "schedule" }, startedAt: now, seenAt: now }, 0);
}

/** Items that have not ended, vectors that are stale, and the source that is being read. */
export function openWork(
	setup: SearchSetup,
	{ items, jobs }: Pick<SearchTables, "items" | "jobs">,
): NewWork[] {
	const { reading } = jobs;
	return [
		...items.open(ENQUEUED).map((item) => ingestItem(setup, item)),
		...(items.stalePlans(1).length > 0 ? [cleanItem(setup)] : []),
		...(reading ? [syncItem(setup, reading.id)] : []),
	];
}
