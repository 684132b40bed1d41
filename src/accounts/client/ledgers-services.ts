/** What the clients of the accounts' objects need from the isolate. */
import type { AiError } from "../../core/errors.ts";
import type { FlushServices } from "../../core/flush-loop.ts";
import type { AccountObjectServices } from "./account-object.ts";

export interface LedgersServices extends FlushServices, Omit<AccountObjectServices, "accountShards"> {
	/** The account's object admits every request. Otherwise leases admit most of them. docs/accounts.md, "Leases". */
	exact?: boolean;
	/**
	 * Keeps the context of a request alive while its admission waits. It is not counted as background work, because the exchange of the
	 * request already is. Absent: `waitUntil`.
	 */
	keepAlive?(promise: Promise<unknown>): void;
	/** Logs settlements that could not be delivered yet. */
	log(error: AiError, requestId: string): void;
}
