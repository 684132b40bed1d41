/** The credentials, the reports and the settings of one account. It admits no requests. */
import { AiError } from "../../core/errors.ts";
import type { FreshCache } from "../../core/fresh-cache.ts";
import { present } from "../../core/present.ts";
import type { Admitted, CountedRequest, Credential, Permission } from "../admission.ts";
import { type BoundGateway, GatewayRequired, type VerifiedCredential } from "../bound-gateway.ts";
import type {
	AccountPlacing,
	AccountReports,
	AliasStore,
	BoundGatewayStore,
	UsedObjectStore,
} from "../durable/account-interfaces.ts";
import type { AliasRow } from "../durable/alias-table.ts";
import type { LimitStatus, LimitStatusQuery } from "../durable/limit-status.ts";
import type { RefusalsQuery, RefusalsReport } from "../durable/refusals.ts";
import type { RequestRecord } from "../durable/request-rows.ts";
import type { RequestsPage, RequestsQuery } from "../durable/requests.ts";
import type { UsageQuery, UsageReport } from "../durable/usage.ts";
import type { ReportedObject } from "../used-objects.ts";
import type { CallParameters } from "./account-calls.ts";
import { eraseAccount } from "./account-moves.ts";
import { AccountObject, type AccountObjectServices } from "./account-object.ts";
import type { KnownCredentials } from "./known-credentials.ts";

export function refusal(refused: Extract<Admitted, { ok: false }>): AiError {
	const { failure, description, gateway, perMinute, retryAfter } = refused;
	if (gateway) return new GatewayRequired(gateway, description);
	return new AiError(failure, description, present({ perMinute, retryAfter }));
}

/** The route has verified the caller. Its account exists, or the caller is the operator. */
const VERIFIED: Credential = { kind: "operator" };

interface AccountReaderServices extends AccountObjectServices {
	/** Every request asks the object. */
	exact?: boolean | undefined;
	credentials: KnownCredentials;
	/** Copies of this isolate. */
	aliases: FreshCache<readonly AliasRow[]>;
}

export abstract class AccountReader<Services extends AccountReaderServices>
	implements AccountReports, AccountPlacing, AliasStore, BoundGatewayStore, UsedObjectStore
{
	protected readonly account: string;
	protected readonly services: Services;
	protected readonly object: AccountObject;

	constructor(account: string, services: Services) {
		this.account = account;
		this.services = services;
		this.object = new AccountObject(account, services);
	}

	get mayReport(): boolean {
		return this.object.mayReport;
	}

	place(): Promise<string> {
		return this.object.place();
	}

	move(to: "shard" | "own"): Promise<boolean> {
		return this.object.move(to);
	}

	erase(): Promise<number | undefined> {
		return eraseAccount(this.account, this.services);
	}

	/** Reports the requests of this isolate, so that a reader sees its own. Never rejects. */
	abstract flush(): Promise<void>;

	aliases(credential: Credential): Promise<readonly AliasRow[]> {
		return this.services.aliases.read(this.account, () => this.object.checkedCall(credential, "aliases"));
	}

	setAlias(credential: Credential, row: AliasRow): Promise<boolean> {
		return this.#changeAliases(credential, "setAlias", row);
	}

	deleteAlias(credential: Credential, alias: string): Promise<boolean> {
		return this.#changeAliases(credential, "deleteAlias", alias);
	}

	async #changeAliases<Method extends "setAlias" | "deleteAlias">(
		credential: Credential,
		method: Method,
		...parameters: CallParameters<Method>
	): Promise<boolean> {
		await this.object.check(credential);
		try {
			return await this.object.call(method, ...parameters);
		} finally {
			this.services.aliases.delete(this.account);
		}
	}

	async usage(query: UsageQuery): Promise<UsageReport> {
		await this.flush();
		return this.object.checkedCall(VERIFIED, "usage", query);
	}

	refusals(query: RefusalsQuery): Promise<RefusalsReport> {
		return this.object.checkedCall(VERIFIED, "refusals", query);
	}

	async requests(query: RequestsQuery): Promise<RequestsPage> {
		await this.flush();
		return this.object.checkedCall(VERIFIED, "requests", query);
	}

	forgiveLease(id: string): Promise<RequestRecord | undefined> {
		return this.object.checkedCall(VERIFIED, "forgiveLease", id);
	}

	usedObjects(): Promise<ReportedObject[]> {
		return this.object.checkedCall(VERIFIED, "usedObjects");
	}

	/** Records a class of other objects before its first use. Returns all of them. */
	useObject(object: ReportedObject): Promise<ReportedObject[]> {
		return this.object.checkedCall(VERIFIED, "useObject", object);
	}

	boundGateway(credential: Credential): Promise<BoundGateway | undefined> {
		return this.object.checkedCall(credential, "boundGateway");
	}

	setBoundGateway(credential: Credential, gateway: BoundGateway | undefined): Promise<void> {
		return this.object.checkedCall(credential, "setBoundGateway", gateway);
	}

	async limitStatus(query: LimitStatusQuery): Promise<LimitStatus> {
		await this.flush();
		return this.object.checkedCall(query.credential, "limitStatus", query);
	}

	async verify(
		credential: Credential,
		permission: Permission,
		request?: CountedRequest,
	): Promise<VerifiedCredential> {
		const isOperator = credential.kind === "operator";
		if (isOperator && !request && permission !== "run") return {};
		const mayCache = permission === "run" && !request && (isOperator || !this.services.exact);
		if (mayCache) return this.verifyRecently(credential);
		return this.#verify(credential, permission, request);
	}

	async verifyRecently(credential: Credential): Promise<VerifiedCredential> {
		const { credentials } = this.services;
		const known = credentials.verified(this.account, credential);
		if (known) return known;
		const facts = await this.#verify(credential, "run");
		credentials.setVerified(this.account, credential, facts);
		return facts;
	}

	async #verify(
		credential: Credential,
		permission: Permission,
		request?: CountedRequest,
	): Promise<VerifiedCredential> {
		const answer = await this.object.checkedCall(credential, "verify", credential, permission, request);
		this.services.credentials.setGateway(this.account, credential, answer.gateway?.id);
		if (!answer.ok) throw refusal(answer);
		const { ok: _, ...facts } = answer;
		return facts;
	}

	knownGateway(credential: Credential): string | undefined {
		return this.services.credentials.gateway(this.account, credential);
	}
}
