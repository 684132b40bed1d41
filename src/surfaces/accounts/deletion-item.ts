/** The items of the durable queue that delete an account's data. Their handler: deletion-work.ts. */
import type { NewWork, WorkId } from "../../storage/queue/work.ts";

/** By class of objects, as their bindings are named. */
export interface DeletionProgress {
	/** Rows or objects so far. */
	deleted: Record<string, number>;
	/** What is not deleted yet. */
	waiting: string[];
}

/** The owner of the items: the account itself has no work any more, and its queue may be full. No id of an account. */
const OWNER = "#deletions";

export const deletionId = (account: string): WorkId => ({ account: OWNER, kind: "accounts", key: account });

export const deletionItem = (account: string): NewWork => deletionId(account);
