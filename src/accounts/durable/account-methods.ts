/** The calls of an `Account` object for its accounts. */
import type { ChangedAccounts } from "./account-changes.ts";
import type { OpenAccount } from "./open-account.ts";

/** The methods that the Worker calls, and whether the account's leases must be checked after them. */
export const METHODS = {
	admitAll: false,
	journal: false,
	checkLeases: false,
	settle: false,
	verify: false,
	tokens: true,
	aliases: false,
	setAlias: false,
	deleteAlias: false,
	usage: false,
	refusals: false,
	requests: false,
	forgiveLease: false,
	limitStatus: false,
	boundGateway: false,
	setBoundGateway: true,
	usedObjects: false,
	useObject: false,
} as const satisfies Partial<Record<keyof OpenAccount, boolean>>;

export type AccountMethod = keyof typeof METHODS;

/** One call for one account, in a call of the object for several. */
export interface AccountCall {
	account: string;
	method: AccountMethod;
	parameters: readonly unknown[];
}

/** `moved`: the account has left this object, or has not arrived yet. */
export type AccountAnswer = { value: unknown } | { moved: true } | { error: string };

/** The answers to calls for several accounts, in their order. */
export interface AccountAnswers {
	answers: AccountAnswer[];
	changed: ChangedAccounts;
}
