/** The calls of the `Account` objects, each for one account. */
import type { Account } from "../durable/account.ts";
import type { Revision } from "../durable/account-changes.ts";
import type {
	AccountAnswer,
	AccountAnswers,
	AccountCall,
	AccountMethod,
} from "../durable/account-methods.ts";
import type { OpenAccount } from "../durable/open-account.ts";

/** The methods of one account. */
export type AccountCalls = {
	[Method in AccountMethod]: (
		...parameters: Parameters<OpenAccount[Method]>
	) => Promise<ReturnType<OpenAccount[Method]>>;
};

/** The calls that the gateway makes of an object. */
export type AccountStub = Pick<DurableObjectStub<Account>, "id"> & {
	call(account: string, method: AccountMethod, parameters: readonly unknown[]): Promise<AccountAnswer>;
	callAll(calls: readonly AccountCall[], known?: Revision): Promise<AccountAnswers>;
};

/** The account has left the object that was called, or has not arrived yet. */
export class AccountMoved extends Error {}

/** `call`: makes one call. Its result is thrown unless it is a value. */
export const accountCalls = (
	call: (method: AccountMethod, parameters: readonly unknown[]) => Promise<AccountAnswer>,
): AccountCalls =>
	// The proxy has all methods of the type.
	new Proxy({} as AccountCalls, {
		get: (_, method) => {
			// A promise may resolve to it, which then must not look like a promise.
			if (typeof method === "symbol" || method === "then") return undefined;
			return async (...parameters: unknown[]) => valueIn(await call(method as AccountMethod, parameters));
		},
	});

/** The calls of one account at its object. */
export const callsOf = (stub: AccountStub, account: string): AccountCalls =>
	accountCalls((method, parameters) => stub.call(account, method, parameters));

function valueIn(answer: AccountAnswer): unknown {
	if ("moved" in answer) throw new AccountMoved();
	if ("error" in answer) throw new Error(answer.error);
	return answer.value;
}
