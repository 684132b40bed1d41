/** Calls of one account's object. */
import { AiError } from "../../core/errors.ts";
import type { Credential } from "../admission.ts";
import type { Account } from "../durable/account.ts";
import type { DirectoryCache } from "./directory-cache.ts";
import type { OpenObjects } from "./open-objects.ts";

export interface AccountObjectServices {
	namespace: DurableObjectNamespace<Account>;
	/** Only accounts in the directory have their objects opened. */
	directory: DirectoryCache;
	/** Each open object holds files of the process. */
	openObjects: OpenObjects;
}

/** Objects of other accounts close after ten idle seconds. */
const BUSY_SECONDS = 5;

export class AccountObject {
	readonly #account: string;
	readonly #services: AccountObjectServices;

	constructor(account: string, services: AccountObjectServices) {
		this.#account = account;
		this.#services = services;
	}

	/** Whether {@link check} is known to succeed. */
	get mayCall(): boolean {
		const { directory, openObjects } = this.#services;
		return directory.isCached(this.#account) && openObjects.mayCall(this.#account);
	}

	/**
	 * Checks that the account's object may be called: a token never opens the object of an account that does not exist, and the
	 * process has files for a limited number of open objects. A call of the operator records the account.
	 */
	async check(credential: Credential): Promise<void> {
		const { directory, openObjects } = this.#services;
		const account = this.#account;
		if (!directory.isCached(account)) {
			let exists = true;
			try {
				if (credential.kind === "operator") await directory.record(account);
				else exists = await directory.exists(account);
			} catch (cause) {
				throw unavailable(cause);
			}
			if (!exists) throw new AiError("authentication");
		}
		if (!openObjects.mayCall(account))
			throw new AiError("outOfCapacity", undefined, { retryAfter: BUSY_SECONDS });
	}

	/** A stub belongs to the request that created it, so each call creates its own. */
	async call<T>(method: (stub: DurableObjectStub<Account>) => Promise<T>): Promise<T> {
		const account = this.#account;
		const stub = this.#services.namespace.getByName(account);
		try {
			return await method(stub);
		} catch (cause) {
			const error = unavailable(cause);
			error.place = { account, object: String(stub.id) };
			throw error;
		}
	}

	/** {@link call}, after {@link check}. */
	async checkedCall<T>(
		credential: Credential,
		method: (stub: DurableObjectStub<Account>) => Promise<T>,
	): Promise<T> {
		await this.check(credential);
		return this.call(method);
	}

	/** As {@link call}, for a call that no check precedes. */
	report<T>(method: (stub: DurableObjectStub<Account>) => Promise<T>): Promise<T> {
		this.#services.openObjects.recordCall(this.#account);
		return this.call(method);
	}
}

export const unavailable = (cause: unknown): AiError =>
	new AiError("ledgerUnavailable", undefined, { cause });
