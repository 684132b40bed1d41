/** Calls of one account's object: any call (`AccountObject`), and its reports and aliases (`AccountReader`). */
import { AiError } from "../../core/errors.ts";
import type { FreshCache } from "../../core/fresh-cache.ts";
import { objectUnavailable } from "../../core/object-failure.ts";
import type { OpenObjects } from "../../core/open-objects.ts";
import { present } from "../../core/present.ts";
import type { Admitted, Credential } from "../admission.ts";
import { type BoundGateway, GatewayRequired } from "../bound-gateway.ts";
import type { Account } from "../durable/account.ts";
import type { AccountReports, AliasStore, BoundGatewayStore } from "../durable/account-interfaces.ts";
import type { AliasRow } from "../durable/alias-table.ts";
import type { LimitStatus, LimitStatusQuery } from "../durable/limit-status.ts";
import type { RefusalsQuery, RefusalsReport } from "../durable/refusals.ts";
import type { RequestRecord } from "../durable/request-rows.ts";
import type { RequestsPage, RequestsQuery } from "../durable/requests.ts";
import type { UsageQuery, UsageReport } from "../durable/usage.ts";
import type { DirectoryCache } from "./directory-cache.ts";

export interface AccountObjectServices {
	namespace: DurableObjectNamespace<Account>;
	/** Only accounts in the directory have their objects opened. */
	directory: DirectoryCache;
	/** Each open object holds files of the process. */
	openObjects: OpenObjects;
}

/** The account's object in the count of open objects. */
export const accountKey = (account: string): string => `ACCOUNT/${account}`;

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
		return directory.isCached(this.#account) && openObjects.mayCall(accountKey(this.#account), this.#account);
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
				throw objectUnavailable(cause);
			}
			if (!exists) throw new AiError("authentication");
		}
		openObjects.requireCall(accountKey(account), account);
	}

	/** A stub belongs to the request that created it, so each call creates its own. */
	async call<T>(method: (stub: DurableObjectStub<Account>) => Promise<T>): Promise<T> {
		const account = this.#account;
		const stub = this.#services.namespace.getByName(account);
		try {
			return await method(stub);
		} catch (cause) {
			const error = objectUnavailable(cause);
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
		this.#services.openObjects.recordCall(accountKey(this.#account), this.#account);
		return this.call(method);
	}
}

export function refusal(refused: Extract<Admitted, { ok: false }>): AiError {
	const { failure, description, gateway, perMinute, retryAfter } = refused;
	if (gateway) return new GatewayRequired(gateway, description);
	return new AiError(failure, description, present({ perMinute, retryAfter }));
}

/** The route has verified the caller. Its account exists, or the caller is the operator. */
const VERIFIED: Credential = { kind: "operator" };

export interface AccountReaderServices extends AccountObjectServices {
	/** Copies of this isolate. */
	aliases: FreshCache<readonly AliasRow[]>;
}

export abstract class AccountReader implements AccountReports, AliasStore, BoundGatewayStore {
	protected readonly object: AccountObject;
	readonly #account: string;
	readonly #aliases: FreshCache<readonly AliasRow[]>;

	constructor(account: string, services: AccountReaderServices) {
		this.object = new AccountObject(account, services);
		this.#account = account;
		this.#aliases = services.aliases;
	}

	/** Reports the requests of this isolate, so that a reader sees its own. Never rejects. */
	abstract flush(): Promise<void>;

	aliases(credential: Credential): Promise<readonly AliasRow[]> {
		return this.#aliases.read(this.#account, () =>
			this.object.checkedCall(credential, async (stub) => stub.aliases()),
		);
	}

	setAlias(credential: Credential, row: AliasRow): Promise<boolean> {
		return this.#changeAliases(credential, async (stub) => stub.setAlias(row));
	}

	deleteAlias(credential: Credential, alias: string): Promise<boolean> {
		return this.#changeAliases(credential, async (stub) => stub.deleteAlias(alias));
	}

	async #changeAliases(
		credential: Credential,
		change: (stub: DurableObjectStub<Account>) => Promise<boolean>,
	): Promise<boolean> {
		await this.object.check(credential);
		try {
			return await this.object.call(change);
		} finally {
			this.#aliases.delete(this.#account);
		}
	}

	async usage(query: UsageQuery): Promise<UsageReport> {
		await this.flush();
		return this.object.checkedCall(VERIFIED, async (stub) => stub.usage(query));
	}

	refusals(query: RefusalsQuery): Promise<RefusalsReport> {
		return this.object.checkedCall(VERIFIED, async (stub) => stub.refusals(query));
	}

	async requests(query: RequestsQuery): Promise<RequestsPage> {
		await this.flush();
		return this.object.checkedCall(VERIFIED, async (stub) => stub.requests(query));
	}

	forgiveLease(id: string): Promise<RequestRecord | undefined> {
		return this.object.checkedCall(VERIFIED, async (stub) => stub.forgiveLease(id));
	}

	boundGateway(credential: Credential): Promise<BoundGateway | undefined> {
		return this.object.checkedCall(credential, async (stub) => stub.boundGateway());
	}

	setBoundGateway(credential: Credential, gateway: BoundGateway | undefined): Promise<void> {
		return this.object.checkedCall(credential, async (stub) => stub.setBoundGateway(gateway));
	}

	async limitStatus(query: LimitStatusQuery): Promise<LimitStatus> {
		await this.flush();
		return this.object.checkedCall(query.credential, async (stub) => stub.limitStatus(query));
	}
}
