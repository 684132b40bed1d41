/** The items of the durable queue for AI Search. Their handler: work.ts. */
import type { NewWork } from "../../storage/queue/work.ts";

/** An instance, as the queue names it. */
export interface WorkInstance {
	account: string;
	object: string;
	namespace: string;
	instance: string;
}

/** The payload of an item of the queue. */
export type SearchWork = Omit<WorkInstance, "account"> &
	(
		| { task: "ingest"; item: string; revision: number }
		/** Deletes vectors of deleted items and earlier revisions. */
		| { task: "clean" }
		/** Deletes what belongs to a deleted instance. */
		| { task: "drop"; indexVersion: number }
	);

const SEARCH_WORK = "search";

const workOf = (
	{ account, instance, namespace, object }: WorkInstance,
	key: string,
	task: Record<string, unknown> & Pick<SearchWork, "task">,
): NewWork => ({
	...{ account, kind: SEARCH_WORK, key: `${object}/${key}` },
	payload: { object, namespace, instance, ...task },
});

export const ingestItem = (
	instance: WorkInstance,
	{ id, revision }: { id: string; revision: number },
): NewWork => workOf(instance, `${id}/${revision}`, { task: "ingest", item: id, revision });

export const cleanItem = (instance: WorkInstance): NewWork => workOf(instance, "clean", { task: "clean" });

export const dropItem = (instance: WorkInstance, indexVersion: number): NewWork =>
	workOf(instance, "drop", { task: "drop", indexVersion });
