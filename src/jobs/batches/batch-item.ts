/** The items of the durable queue that run a batch. */
import type { WorkId } from "../../storage/queue/work.ts";

/** The kind of the work (`src/work-handlers.ts`). */
const KIND = "batches";
const SEPARATOR = "/";

/** `wake`: another item of the same batch, which starts although the first one waits. The later one takes over. */
export const batchItem = (account: string, batch: string, wake?: string): WorkId => ({
	account,
	kind: KIND,
	key: wake === undefined ? batch : `${batch}${SEPARATOR}${wake}`,
});

export const batchOf = ({ key }: Pick<WorkId, "key">): string => key.split(SEPARATOR)[0] ?? key;
