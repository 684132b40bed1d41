/** The item of the durable queue that moves an index to another store. Its handler: move-work.ts. */
import type { NewWork } from "../../storage/queue/work.ts";

const VECTOR_WORK = "vectors";

/** The payload of the item. */
export interface MoveWork {
	/** Its name. */
	index: string;
	/** Of the index in its new store. */
	object: string;
}

export const moveItem = (account: string, payload: MoveWork): NewWork => ({
	...{ account, kind: VECTOR_WORK, key: payload.object, payload },
});
