/** Reads an account, and changes its aliases. */
import type { FreshCache } from "../../core/fresh-cache.ts";
import type { Credential } from "../admission.ts";
import type { Account } from "../durable/account.ts";
import type { AccountReports, AliasStore } from "../durable/account-interfaces.ts";
import type { AliasRow } from "../durable/alias-table.ts";
import type { LimitStatus, LimitStatusQuery } from "../durable/limit-status.ts";
import type { RefusalsQuery, RefusalsReport } from "../durable/refusals.ts";
import type { RequestRecord } from "../durable/request-rows.ts";
import type { RequestsPage, RequestsQuery } from "../durable/requests.ts";
import type { UsageQuery, UsageReport } from "../durable/usage.ts";
import { AccountObject, type AccountObjectServices } from "./account-object.ts";

/** The route has verified the caller. Its account exists, or the caller is the operator. */
const VERIFIED: Credential = { kind: "operator" };

export interface AccountReaderServices extends AccountObjectServices {
	/** Copies of this isolate. */
	aliases: FreshCache<readonly AliasRow[]>;
}

export abstract class AccountReader implements AccountReports, AliasStore {
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

	async limitStatus(query: LimitStatusQuery): Promise<LimitStatus> {
		await this.flush();
		return this.object.checkedCall(query.credential, async (stub) => stub.limitStatus(query));
	}
}
