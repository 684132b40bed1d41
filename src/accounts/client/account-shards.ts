/**
 * The short calls for the accounts of a shard. Those that arrive while a call of the shard is under way share the next one, and so
 * its commit. An answer also names the accounts of the shard that have changed, so the leases of all others need no check of their own.
 */
import type { ChangedAccounts, Revision } from "../durable/account-changes.ts";
import type { AccountAnswer, AccountCall, AccountMethod } from "../durable/account-methods.ts";
import type { AccountStub } from "./account-calls.ts";
import { BatchQueue } from "./batch-queue.ts";

/** The others may read many rows. */
const SHORT: ReadonlySet<AccountMethod> = new Set<AccountMethod>([
	"admitAll",
	"journal",
	"checkLeases",
	"settle",
	"tokens",
	"verify",
]);

interface ShardServices {
	now(): number;
	wait(milliseconds: number): Promise<void>;
	/** Keeps the context of the current request alive. */
	waitUntil(promise: Promise<unknown>): void;
	/** The leases of these accounts must be checked before they are used for longer than a second after the check before. */
	onChanged(accounts: ChangedAccounts["accounts"]): void;
	/** No other isolate changes accounts: all changes are known without an answer. */
	isOnlyProcess?: boolean;
}

interface Shard {
	calls: BatchQueue<AccountCall, AccountAnswer>;
	/** That of the latest answer. */
	revision?: Revision;
	/** When the latest of the answered calls began. */
	confirmedAt: number;
}

export class AccountShards {
	readonly #services: ShardServices;
	/** By name. */
	readonly #shards = new Map<string, Shard>();

	constructor(services: ShardServices) {
		this.#services = services;
	}

	/** `stub`: of the shard, made by the current request. */
	call(shard: string, call: AccountCall, stub: AccountStub): Promise<AccountAnswer> {
		if (!SHORT.has(call.method)) return stub.call(call.account, call.method, call.parameters);
		const called = this.#shard(shard);
		return called.calls.add(call, (calls) => this.#call(called, stub, calls));
	}

	/** This isolate has changed the account. */
	recordChange(account: string): void {
		this.#services.onChanged([account]);
	}

	/** The changes of all accounts of the shard until this time are known. */
	confirmedAt(shard: string): number {
		const { isOnlyProcess, now } = this.#services;
		if (isOnlyProcess) return now();
		return this.#shards.get(shard)?.confirmedAt ?? Number.NEGATIVE_INFINITY;
	}

	async #call(shard: Shard, stub: AccountStub, calls: readonly AccountCall[]): Promise<AccountAnswer[]> {
		const calledAt = this.#services.now();
		const { answers, changed } = await stub.callAll(calls, shard.revision);
		const { revision, accounts } = changed;
		// The answer to an earlier call may arrive later.
		const isOlder = revision.epoch === shard.revision?.epoch && revision.changes < shard.revision.changes;
		if (!isOlder) shard.revision = revision;
		shard.confirmedAt = Math.max(shard.confirmedAt, calledAt);
		if (accounts.length > 0) this.#services.onChanged(accounts);
		return answers;
	}

	#shard(name: string): Shard {
		const existing = this.#shards.get(name);
		if (existing) return existing;
		const { now, wait, waitUntil } = this.#services;
		const created: Shard = {
			calls: new BatchQueue({ now, wait, waitUntil }),
			confirmedAt: Number.NEGATIVE_INFINITY,
		};
		this.#shards.set(name, created);
		return created;
	}
}
