/**
 * The accounts whose data are being deleted, or were deleted a short time ago: no request, item of work or late write may call an object of
 * such an account, because its first row would exist again. The directory has the list. Each isolate has a copy, and renews it before a
 * call if it is older than {@link LIST_FRESH_MS}, unless it makes all changes of the list itself.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { hasPassed } from "./elapsed.ts";
import { AiError } from "./errors.ts";
import { lateResult } from "./late-result.ts";

/** All isolates know a deletion this long after its begin, milliseconds. */
export const LIST_FRESH_MS = 3_000;
/** A copy of this age is renewed without delaying a call. */
const RENEW_MS = 1_500;
const BUSY_SECONDS = 5;

export interface AccountDeletion {
	/** Epoch milliseconds. */
	begunAt: number;
	/** Until then the name stays refused. Absent: the data are being deleted. */
	until?: number;
}

/** Calls of the directory's object. */
export interface DeletionCalls {
	/** Begins a deletion, unless one is known. */
	beginDeletion(account: string): Promise<AccountDeletion>;
	/** The account has no data any more. */
	endDeletion(account: string, until: number): Promise<void>;
	/** The name is free again. */
	forgetDeletion(account: string): Promise<void>;
	deletion(account: string): Promise<AccountDeletion | undefined>;
	/** `accounts` is absent if nothing has changed since the revision that the caller knows. */
	deletions(
		known: string | undefined,
	): Promise<{ revision: string; accounts?: ({ id: string } & AccountDeletion)[] }>;
}

interface DeletedAccountsServices {
	/** A stub belongs to the request that created it: each call needs a new one. */
	directory(): DeletionCalls;
	/** Milliseconds since the epoch. */
	now(): number;
	waitUntil(promise: Promise<unknown>): void;
	/** No other isolate begins or ends a deletion, so a copy stays fresh. */
	isOnlyProcess?: boolean;
}

/** Set while only deletions run. */
const exempt = new AsyncLocalStorage<true>();

export class DeletedAccounts {
	readonly #services: DeletedAccountsServices;
	readonly #listeners: ((account: string) => void)[] = [];
	#accounts: ReadonlyMap<string, AccountDeletion> = new Map();
	#revision: string | undefined;
	#checkedAt = Number.NEGATIVE_INFINITY;
	#isRenewing = false;

	constructor(services: DeletedAccountsServices) {
		this.#services = services;
	}

	/** `listener`: drops what this isolate has of the account. */
	onDeleted(listener: (account: string) => void): void {
		this.#listeners.push(listener);
	}

	/** By the copy. */
	has(account: string): boolean {
		return this.#accounts.size > 0 && this.#accounts.has(account);
	}

	/** Whether the copy may be used. Otherwise {@link renew} comes first. */
	get isFresh(): boolean {
		if (this.#services.isOnlyProcess && this.#revision !== undefined) return true;
		const now = this.#services.now();
		if (hasPassed(LIST_FRESH_MS, this.#checkedAt, now)) return false;
		if (hasPassed(RENEW_MS, this.#checkedAt, now) && !this.#isRenewing) this.#renewMeanwhile();
		return true;
	}

	/** Throws 1001 (409) if the copy has the account, unless only deletions run. */
	require(account: string): void {
		if (!this.has(account) || exempt.getStore()) return;
		throw deletedError(account, this.#accounts.get(account)?.until, this.#services.now());
	}

	/** {@link require}, by a fresh copy. */
	async check(account: string): Promise<void> {
		if (!this.isFresh) await this.renew();
		this.require(account);
	}

	/** Calls an object of the account after {@link check}. */
	call(account: string, method: () => object): object {
		if (!this.isFresh) return lateResult(this.check(account).then(method));
		this.require(account);
		return method();
	}

	/** Calls the objects of deleted accounts, too. `run` must only delete. */
	exempt<T>(run: () => T): T {
		return exempt.run(true, run);
	}

	/** Never rejects: without the directory, the former copy is used on. The last pass of each deletion deletes what is written meanwhile. */
	async renew(): Promise<void> {
		try {
			const { accounts, revision } = await this.#services.directory().deletions(this.#revision);
			this.#revision = revision;
			if (accounts) this.#replace(new Map(accounts.map(({ id, ...deletion }) => [id, deletion])));
		} catch {
			// The next call tries again.
		} finally {
			this.#checkedAt = this.#services.now();
			this.#isRenewing = false;
		}
	}

	/** Begins a deletion, unless one is known. From now on this isolate calls no object of the account. */
	async begin(account: string): Promise<AccountDeletion> {
		const deletion = await this.#services.directory().beginDeletion(account);
		await this.renew();
		return deletion;
	}

	/** The account has no data any more. Its name stays refused until this time. */
	async end(account: string, until: number): Promise<void> {
		await this.#services.directory().endDeletion(account, until);
		await this.renew();
	}

	/** The name is free again. */
	async forget(account: string): Promise<void> {
		await this.#services.directory().forgetDeletion(account);
		await this.renew();
	}

	async find(account: string): Promise<AccountDeletion | undefined> {
		return (await this.#services.directory().deletion(account)) ?? undefined;
	}

	#replace(accounts: ReadonlyMap<string, AccountDeletion>): void {
		const before = this.#accounts;
		this.#accounts = accounts;
		for (const account of accounts.keys())
			if (!before.has(account)) for (const listener of this.#listeners) listener(account);
	}

	#renewMeanwhile(): void {
		this.#isRenewing = true;
		try {
			this.#services.waitUntil(this.renew());
		} catch {
			// No request is running.
			this.#isRenewing = false;
		}
	}
}

export const isAccountDeleted = (cause: unknown): boolean =>
	cause instanceof AiError && cause.key === "accountDeleted";

function deletedError(account: string, until: number | undefined, now: number): AiError {
	if (until === undefined)
		return new AiError("accountDeleted", `The data of the account ${account} are being deleted`, {
			retryAfter: BUSY_SECONDS,
		});
	return new AiError(
		"accountDeleted",
		`The data of the account ${account} were deleted. An account with this name can be made from ${new Date(until).toISOString()} on`,
		{ retryAfter: Math.max(1, Math.ceil((until - now) / 1_000)) },
	);
}
