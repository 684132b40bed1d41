/** The clients of the accounts' objects, and what they need from the isolate. */
import type { AiError } from "../../core/errors.ts";
import type { FlushServices } from "../../core/flush-schedule.ts";
import type { AccountLedger, DurableLedger, Ledgers } from "../admission.ts";
import type {
	AccountPlacing,
	AccountReports,
	AliasStore,
	BoundGatewayStore,
	UsedObjectStore,
} from "../durable/account-interfaces.ts";
import type { TokenStore } from "../token-command.ts";
import type { AccountObjectServices } from "./account-object.ts";

export interface LedgersServices extends FlushServices, Omit<AccountObjectServices, "accountShards"> {
	/** The account's object admits every request. Otherwise leases admit most of them. docs/accounts.md, "Leases". */
	exact?: boolean;
	/** The isolate lives on without requests, so that it can return leases a minute after their last use. */
	longLeases?: boolean;
	/** No other isolate calls the accounts' objects. */
	isOnlyProcess?: boolean;
	/**
	 * Keeps the context of a request alive while its admission waits. It is not counted as background work, because the exchange of the
	 * request already is. Absent: `waitUntil`.
	 */
	keepAlive?(promise: Promise<unknown>): void;
	/** Logs settlements that could not be delivered yet. */
	log(error: AiError, requestId: string): void;
}

export interface Accounts extends Ledgers {
	of(
		account: string,
	): AccountLedger &
		AccountReports &
		AccountPlacing &
		AliasStore &
		BoundGatewayStore &
		DurableLedger &
		TokenStore &
		UsedObjectStore;
}

/** For the code that closes the isolate. */
export interface IsolateAccounts extends Accounts {
	/** Reports everything to the accounts' objects, and returns all leases. Never rejects. */
	flush(): Promise<void>;
	/** Drops what the isolate has of an account whose data are deleted. */
	forget(account: string): void;
}
