/**
 * The short calls for the accounts of a shard. Those that arrive while a call of the shard is under way share the next one, and so
 * its commit.
 */
import type { Account, AccountAnswer, AccountCall, AccountMethod } from "../durable/account.ts";
import { type AccountCalls, type AccountStub, accountCalls } from "./account-calls.ts";
import { BatchQueue } from "./batch-queue.ts";

/** The others may read many rows. */
const SHORT: ReadonlySet<AccountMethod> = new Set<AccountMethod>([
	"admit",
	"admitAll",
	"journal",
	"checkLeases",
	"settle",
	"verify",
]);

interface ShardServices {
	namespace: DurableObjectNamespace<Account>;
	now(): number;
	wait(milliseconds: number): Promise<void>;
	/** Keeps the context of the current request alive. */
	waitUntil(promise: Promise<unknown>): void;
}

export class AccountShards {
	readonly #services: ShardServices;
	/** By the name of the shard. */
	readonly #queues = new Map<string, BatchQueue<AccountCall, AccountAnswer>>();

	constructor(services: ShardServices) {
		this.#services = services;
	}

	/** The calls of one account. `stub`: of the shard, made by the current request. */
	of(shard: string, account: string, stub: AccountStub): AccountCalls {
		return accountCalls((method, parameters) => {
			if (!SHORT.has(method)) return stub.call(account, method, parameters);
			const call = { account, method, parameters };
			return this.#queue(shard).add(call, (calls) => stub.callAll(calls));
		});
	}

	#queue(shard: string): BatchQueue<AccountCall, AccountAnswer> {
		const existing = this.#queues.get(shard);
		if (existing) return existing;
		const { now, wait, waitUntil } = this.#services;
		const created = new BatchQueue<AccountCall, AccountAnswer>({ now, wait, waitUntil });
		this.#queues.set(shard, created);
		return created;
	}
}
