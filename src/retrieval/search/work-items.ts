/** The items of the durable queue for AI Search. Their handler: work.ts. */
import type { NewWork } from "../../storage/queue/work.ts";
import type { InstanceRecord } from "./records.ts";

/** An instance, as the queue names it. */
export interface WorkInstance {
	account: string;
	object: string;
	namespace: string;
	instance: string;
}

export const workInstance = ({
	account,
	record: { id, namespace, object },
}: {
	account: string;
	record: Pick<InstanceRecord, "id" | "namespace" | "object">;
}): WorkInstance => ({ account, object, namespace, instance: id });

/** The payload of an item of the queue. */
export type SearchWork = Omit<WorkInstance, "account"> &
	(
		| { task: "ingest"; item: string; revision: number }
		/** Reads the source for a job. */
		| { task: "sync"; job: string }
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

export const syncItem = (instance: WorkInstance, job: string): NewWork =>
	workOf(instance, `sync/${job}`, { task: "sync", job });

export const cleanItem = (instance: WorkInstance): NewWork => workOf(instance, "clean", { task: "clean" });

export const isDeletion = ({ payload }: Pick<NewWork, "payload">): boolean =>
	(payload as SearchWork).task === "drop";

export const dropItem = (instance: WorkInstance, indexVersion: number): NewWork =>
	workOf(instance, "drop", { task: "drop", indexVersion });
