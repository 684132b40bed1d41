/** The reports and aliases of an account, which the Worker reads and writes beside its ledger. Types only. */
import type { Credential } from "../admission.ts";
import type { BoundGateway } from "../bound-gateway.ts";
import type { ReportedObject } from "../used-objects.ts";
import type { AliasRow } from "./alias-table.ts";
import type { LimitStatus, LimitStatusQuery } from "./limit-status.ts";
import type { RefusalsQuery, RefusalsReport } from "./refusals.ts";
import type { RequestRecord } from "./request-rows.ts";
import type { RequestsPage, RequestsQuery } from "./requests.ts";
import type { UsageQuery, UsageReport } from "./usage.ts";

/** The route has verified the caller. Each method throws `AiError` if the object cannot be called. */
export interface AccountReports {
	/** Whether a report about many accounts may call the account's object: it leaves room for requests. */
	readonly mayReport: boolean;
	usage(query: UsageQuery): Promise<UsageReport>;
	refusals(query: RefusalsQuery): Promise<RefusalsReport>;
	requests(query: RequestsQuery): Promise<RequestsPage>;
	limitStatus(query: LimitStatusQuery): Promise<LimitStatus>;
	/** Sets the charge of a lease to 0. Returns nothing if no such lease is charged. */
	forgiveLease(id: string): Promise<RequestRecord | undefined>;
}

/** The classes of other objects that may have data of the account. */
export interface UsedObjectStore {
	usedObjects(): Promise<ReportedObject[]>;
	/** Records a class before its first use. Returns all of them. */
	useObject(object: ReportedObject): Promise<ReportedObject[]>;
}

/** The account's own aliases of models. */
export interface AliasStore {
	aliases(credential: Credential): Promise<readonly AliasRow[]>;
	/** False if the account has the maximum number of aliases. */
	setAlias(credential: Credential, row: AliasRow): Promise<boolean>;
	/** False if there is no such alias. */
	deleteAlias(credential: Credential, alias: string): Promise<boolean>;
}

/** The object that has the account: src/accounts/places.ts. */
export interface AccountPlacing {
	/** The name of the object. The caller is the operator, so an account that does not exist is recorded. */
	place(): Promise<string>;
	/** Moves the account. Returns false if it is there, or another caller moves it now. */
	move(to: "shard" | "own"): Promise<boolean>;
	/** Deletes the rows of the account. Returns their number, or nothing while another caller moves the account. */
	erase(): Promise<number | undefined>;
}

/** The gateway that the account binds for all its requests. */
export interface BoundGatewayStore {
	boundGateway(credential: Credential): Promise<BoundGateway | undefined>;
	/** `undefined` removes it. */
	setBoundGateway(credential: Credential, gateway: BoundGateway | undefined): Promise<void>;
}
