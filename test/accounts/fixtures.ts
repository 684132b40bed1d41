/** Messages to an account with default fields. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { Admission, Admitted, Settlement } from "../../src/accounts/admission.ts";
import type { AccountStub, CallParameters, CallResult } from "../../src/accounts/client/account-calls.ts";
import type { Account } from "../../src/accounts/durable/account.ts";
import type { AccountMethod } from "../../src/accounts/durable/account-methods.ts";
import type { VerifiedToken } from "../../src/accounts/durable/decision.ts";
import { Ledger } from "../../src/accounts/durable/ledger.ts";
import type { TokenFields } from "../../src/accounts/token-command.ts";

export const MODEL = "@cf/meta/llama-3.1-8b-instruct";
export const TASK = "Text Generation";

let accounts = 0;

/** An account that has not been used. */
export const newAccount = (): string => `account-${++accounts}-${crypto.randomUUID()}`;

export const stubOf = (account: string): DurableObjectStub<Account> => env.ACCOUNT.getByName(account);

/** The methods of one account. `admit`: {@link AccountCalls.admitAll} of one request. */
export type AccountCalls = {
	[Method in AccountMethod]: (...parameters: CallParameters<Method>) => Promise<CallResult<Method>>;
} & { admit(admission: Admission, settled: readonly Settlement[]): Promise<Admitted> };

export const callsOf = (stub: AccountStub, account: string): AccountCalls =>
	new Proxy({} as AccountCalls, {
		get: (_, method) => {
			// A promise may resolve to it, which then must not look like a promise.
			if (typeof method === "symbol" || method === "then") return undefined;
			if (method === "admit")
				return async (admission: Admission, settled: readonly Settlement[]) =>
					(await callsOf(stub, account).admitAll([admission], settled))[0];
			return async (...parameters: unknown[]) => {
				const answer = await stub.call(account, method as AccountMethod, parameters);
				if ("moved" in answer) throw new Error("moved");
				if ("error" in answer) throw new Error(answer.error);
				return answer.value;
			};
		},
	});

/** The calls of an account that has an object of its own. */
export const callsTo = (account: string): AccountCalls => callsOf(stubOf(account), account);

/** The rows of the first account of an object. */
export const rowsIn = (storage: DurableObjectStorage, account = 1) => ({
	...{ sql: storage.sql, account, tables: new Map() },
	transactionSync: <T>(change: () => T): T => storage.transactionSync(change),
});

/** By default it costs nothing and has no limits. */
export const admission = (fields: Partial<Admission> = {}): Admission => ({
	ticket: crypto.randomUUID(),
	credential: { kind: "operator" },
	model: MODEL,
	task: TASK,
	rates: [],
	budgets: [],
	cost: { fixedMicroNeurons: 0, microNeuronsPerOutputToken: 0, outputTokens: 0, outputUnbounded: false },
	holdMs: 600_000,
	...fields,
});

/** A cost that does not depend on the output. */
export const fixedCost = (microNeurons: number): Admission["cost"] => ({
	fixedMicroNeurons: microNeurons,
	microNeuronsPerOutputToken: 0,
	outputTokens: 0,
	outputUnbounded: false,
});

export const settlement = (ticket: string, fields: Partial<Settlement> = {}): Settlement => ({
	ticket,
	outcome: "ok",
	microNeurons: 0,
	inputTokens: 0,
	cachedTokens: 0,
	outputTokens: 0,
	estimated: false,
	backend: "engine",
	attempts: 1,
	latencyMs: 10,
	firstTokenMs: 4,
	...fields,
});

const WORKERS_AI_RUN = { id: "d3ab162cd977454484c09407d166146a", name: "Workers AI Run" };

/** Creates a token that may run models, and returns its credential. */
export async function tokenOf(
	account: string,
	limits: TokenFields["limits"] = {},
	more: Partial<TokenFields> = {},
	calls: Pick<AccountCalls, "tokens"> = callsTo(account),
): Promise<Admission["credential"]> {
	const hash = crypto.randomUUID().replaceAll("-", "").repeat(2);
	const policies: TokenFields["policies"] = [
		{
			id: "p",
			effect: "allow",
			permission_groups: [WORKERS_AI_RUN],
			resources: { [`com.cloudflare.api.account.${account}`]: "*" },
		},
	];
	const fields = { name: "test", policies, disabled: false, limits, ...more };
	const made = await calls.tokens({
		kind: "create",
		maker: { kind: "operator" },
		id: "token-1",
		hash,
		fields,
	});
	if (!made.ok) throw new Error(made.failure);
	return { kind: "token", hash };
}

export const MIDNIGHT = Date.parse("2026-11-22T00:00:00Z");
export const NOON = Date.parse("2026-11-21T12:00:00Z");

export class TestLedger extends Ledger {
	admit(admission: Admission, token?: VerifiedToken): Admitted {
		const [answer] = this.admitAll([{ admission, token }]);
		if (!answer) throw new Error("No answer");
		return answer;
	}
}

/** A ledger of a new account, with a clock that the test sets. */
export interface LedgerBench {
	ledger: TestLedger;
	/** Milliseconds since the epoch. */
	time: number;
	storage: DurableObjectStorage;
	/** As after an eviction: only the tables remain. */
	restart(): void;
}

export const withLedger = <T>(test: (bench: LedgerBench) => T): Promise<T> =>
	runInDurableObject(stubOf(newAccount()), (_: Account, { storage }) => {
		const open = (): TestLedger => new TestLedger(rowsIn(storage), () => bench.time);
		const bench: LedgerBench = {
			time: NOON,
			storage,
			get ledger() {
				ledger ??= open();
				return ledger;
			},
			restart: () => {
				ledger = open();
			},
		};
		let ledger: TestLedger | undefined;
		return test(bench);
	});

export const SECOND = 1000;
