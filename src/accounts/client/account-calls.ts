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

export type CallParameters<Method extends AccountMethod> = Parameters<OpenAccount[Method]>;

export type CallResult<Method extends AccountMethod> = ReturnType<OpenAccount[Method]>;

/** The calls that the gateway makes of an object. */
export type AccountStub = Pick<DurableObjectStub<Account>, "id"> & {
	call(account: string, method: AccountMethod, parameters: readonly unknown[]): Promise<AccountAnswer>;
	callAll(calls: readonly AccountCall[], known?: Revision): Promise<AccountAnswers>;
};
