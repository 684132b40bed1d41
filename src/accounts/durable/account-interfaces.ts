/** What an account's object knows beside its limits, as the Worker asks for it. Types only. */
import type { Credential } from "../admission.ts";
import type { AliasRow } from "./alias-table.ts";
import type { LimitStatus, LimitStatusQuery } from "./limit-status.ts";
import type { RefusalsQuery, RefusalsReport } from "./refusals.ts";
import type { RequestsPage, RequestsQuery } from "./requests.ts";
import type { UsageQuery, UsageReport } from "./usage.ts";

/** What an account knows of its past. Who may ask was verified. Each throws `AiError` where the object cannot be asked. */
export interface AccountReports {
	usage(query: UsageQuery): Promise<UsageReport>;
	refusals(query: RefusalsQuery): Promise<RefusalsReport>;
	requests(query: RequestsQuery): Promise<RequestsPage>;
	limitStatus(query: LimitStatusQuery): Promise<LimitStatus>;
}

/** The aliases of models that an account has set. */
export interface AliasStore {
	aliases(credential: Credential): Promise<readonly AliasRow[]>;
	/** False where the account has as many as it may have. */
	setAlias(credential: Credential, row: AliasRow): Promise<boolean>;
	/** False where there is none. */
	deleteAlias(credential: Credential, alias: string): Promise<boolean>;
}
