/** Calls of one account's object, wherever it is. */
import type { DeletedAccounts } from "../../core/deleted-accounts.ts";
import { AiError } from "../../core/errors.ts";
import { objectUnavailable } from "../../core/object-failure.ts";
import type { OpenObjects } from "../../core/open-objects.ts";
import type { Credential } from "../admission.ts";
import type { Account } from "../durable/account.ts";
import { type AccountMethod, METHODS } from "../durable/account-methods.ts";
import { isShard, ownPlace } from "../places.ts";
import type { AccountStub, CallParameters, CallResult } from "./account-calls.ts";
import { moveAccount } from "./account-moves.ts";
import type { AccountShards } from "./account-shards.ts";
import type { DirectoryCache } from "./directory-cache.ts";

export interface AccountObjectServices {
	namespace: DurableObjectNamespace<Account>;
	/** Only the objects of accounts in the directory are opened. */
	directory: DirectoryCache;
	/** Each open object holds files of the process. */
	openObjects: OpenObjects;
	accountShards: AccountShards;
	/** Absent: no account is deleted. */
	deletedAccounts?: DeletedAccounts;
	wait(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** An object in the count of open objects. */
const placeKey = (place: string): string => `ACCOUNT/${place}`;

/** Waits for an account that is moving: 30 times 100 milliseconds. */
const MOVING_TRIES = 30;
const MOVING_MS = 100;

export class AccountObject {
	readonly #account: string;
	readonly #services: AccountObjectServices;

	constructor(account: string, services: AccountObjectServices) {
		this.#account = account;
		this.#services = services;
	}

	/** Whether the account shares its object. */
	get isInShard(): boolean {
		const place = this.#services.directory.known(this.#account);
		return place !== undefined && isShard(place);
	}

	/** The changes of the account until this time are known, by answers to calls of its shard for any account. */
	get confirmedAt(): number {
		const { directory, accountShards } = this.#services;
		const place = directory.known(this.#account);
		return place !== undefined && isShard(place)
			? accountShards.confirmedAt(place)
			: Number.NEGATIVE_INFINITY;
	}

	/** By the copy of this isolate. */
	get isDeleted(): boolean {
		return this.#services.deletedAccounts?.has(this.#account) ?? false;
	}

	/** Whether {@link check} is known to succeed. */
	get mayCall(): boolean {
		const { deletedAccounts, directory, openObjects } = this.#services;
		const place = directory.known(this.#account);
		if (place === undefined || deletedAccounts?.isFresh === false || this.isDeleted) return false;
		return isShard(place) || openObjects.mayCall(placeKey(place), this.#account);
	}

	/** Whether a report about many accounts may call the object. */
	get mayReport(): boolean {
		const { directory, openObjects } = this.#services;
		const place = directory.known(this.#account) ?? ownPlace(this.#account);
		return isShard(place) || openObjects.mayReport(placeKey(place));
	}

	/**
	 * Checks that the account's object may be called: a token never opens the object of an account that does not exist, and the
	 * process has files for a limited number of open objects. The few shards are always open. A call of the operator records the
	 * account, unless its data are being deleted.
	 */
	async check(credential: Credential): Promise<void> {
		const { deletedAccounts, directory, openObjects } = this.#services;
		const account = this.#account;
		if (deletedAccounts?.isFresh === false) await deletedAccounts.renew();
		if (this.isDeleted && credential.kind !== "operator") throw new AiError("authentication");
		deletedAccounts?.require(account);
		const place = directory.known(account) ?? (await this.#find(credential.kind === "operator"));
		if (!isShard(place)) openObjects.requireCall(placeKey(place), account);
	}

	/**
	 * Calls the object of the account. A stub belongs to the request that created it, so each call creates its own. A call for an
	 * account that has moved is made again, at its new place.
	 */
	async call<Method extends AccountMethod>(
		method: Method,
		...parameters: CallParameters<Method>
	): Promise<CallResult<Method>> {
		const { accountShards, deletedAccounts, directory, namespace } = this.#services;
		const account = this.#account;
		if (deletedAccounts?.isFresh === false) await deletedAccounts.renew();
		deletedAccounts?.require(account);
		for (let tries = 0; ; tries++) {
			// Most calls follow a check, and need no lookup.
			const place = directory.known(account) ?? (await this.#find());
			const stub: AccountStub = namespace.getByName(place);
			try {
				const answer = await (isShard(place)
					? accountShards.call(place, { account, method, parameters }, stub)
					: stub.call(account, method, parameters));
				// The object has called the method.
				if ("value" in answer) return answer.value as CallResult<Method>;
				if ("error" in answer) throw new Error(answer.error);
				if (tries === MOVING_TRIES) throw new Error("The account is moving");
			} catch (cause) {
				const error = objectUnavailable(cause);
				error.place = { account, object: String(stub.id) };
				throw error;
			} finally {
				// Also after a failure: the object may have made the change.
				if (METHODS[method]) accountShards.recordChange(account);
			}
			await this.#waitForMove(place, tries);
		}
	}

	/** {@link call}, after {@link check}. */
	async checkedCall<Method extends AccountMethod>(
		credential: Credential,
		method: Method,
		...parameters: CallParameters<Method>
	): Promise<CallResult<Method>> {
		await this.check(credential);
		return this.call(method, ...parameters);
	}

	/** The name of the object. Records an account that does not exist. */
	place(): Promise<string> {
		return this.#find(true);
	}

	/** Returns false if the account is there, or another caller moves it now. */
	async move(to: "shard" | "own"): Promise<boolean> {
		const { directory } = this.#services;
		const account = this.#account;
		await this.#find(true);
		try {
			return await moveAccount(
				account,
				to === "own" ? ownPlace(account) : directory.placeFor(account),
				this.#services,
			);
		} catch (cause) {
			throw objectUnavailable(cause);
		}
	}

	/** As {@link call}, for a call that no check precedes. */
	report<Method extends AccountMethod>(
		method: Method,
		...parameters: CallParameters<Method>
	): Promise<CallResult<Method>> {
		const { directory, openObjects } = this.#services;
		const place = directory.known(this.#account) ?? ownPlace(this.#account);
		if (!isShard(place)) openObjects.recordCall(placeKey(place), this.#account);
		return this.call(method, ...parameters);
	}

	/** `place`: that of the failed call. Makes an interrupted move again. */
	async #waitForMove(place: string, tries: number): Promise<void> {
		const { directory, namespace, wait } = this.#services;
		const account = this.#account;
		if ((await directory.lookUp(account)) !== place) return;
		const to = await namespace.getByName(place).interruptedMove(account);
		if (to !== undefined && (await moveAccount(account, to, this.#services))) return;
		if (tries > 0) await wait(MOVING_MS);
	}

	/** Records a new account of the operator. An account of an earlier version moves to its shard first. */
	async #find(isOperator = false): Promise<string> {
		const { deletedAccounts, directory } = this.#services;
		const account = this.#account;
		await deletedAccounts?.check(account);
		try {
			const place = await (isOperator ? directory.record(account) : directory.find(account));
			if (place !== undefined && directory.isEarlier(account))
				await moveAccount(account, directory.placeFor(account), this.#services);
			const found = directory.known(account) ?? place;
			if (found !== undefined) return found;
		} catch (cause) {
			throw objectUnavailable(cause);
		}
		throw new AiError("authentication");
	}
}
