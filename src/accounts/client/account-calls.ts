/** The calls of the `Account` objects, each for one account. */
import type { Account, AccountAnswer, AccountCall, AccountMethod } from "../durable/account.ts";
import type { OpenAccount } from "../durable/open-account.ts";

/** The methods of one account. */
export type AccountCalls = {
	[Method in AccountMethod]: (
		...parameters: Parameters<OpenAccount[Method]>
	) => Promise<ReturnType<OpenAccount[Method]>>;
};

/** The calls that the gateway makes of an object. */
export type AccountStub = Pick<DurableObjectStub<Account>, "id"> & {
	call(account: string, method: AccountMethod, parameters: readonly unknown[]): Promise<unknown>;
	callAll(calls: readonly AccountCall[]): Promise<AccountAnswer[]>;
};

/** `call`: makes one call. */
export const accountCalls = (
	call: (method: AccountMethod, parameters: readonly unknown[]) => Promise<unknown>,
): AccountCalls =>
	// The proxy has all methods of the type.
	new Proxy({} as AccountCalls, {
		get: (_, method) => {
			// A promise may resolve to it, which then must not look like a promise.
			if (typeof method === "symbol" || method === "then") return undefined;
			return (...parameters: unknown[]) => call(method as AccountMethod, parameters);
		},
	});

/** The calls of one account at its object. */
export const callsOf = (stub: AccountStub, account: string): AccountCalls =>
	accountCalls((method, parameters) => stub.call(account, method, parameters));
