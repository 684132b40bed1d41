/**
 * The messages between the isolates and the `Account` object: admissions, settlements, and the batches of requests that an isolate
 * admits from a lease. Plain data, because they cross RPC and are stored in tables. Amounts are whole micro-neurons (millionths of a
 * neuron), so that sums are exact.
 */
import type { FailureKey } from "../core/errors.ts";
import type { BoundGateway, RequestGateway, VerifiedCredential } from "./bound-gateway.ts";
import type { Lease, LeaseRequest } from "./lease.ts";

export const MICRO_NEURONS = 1_000_000;

/**
 * `run`: inference. `read`: the catalogue, usage. `write`: changes of models. `gateways-write`: changes of gateways and of what they use.
 * `tokens-read`, `tokens-write`: the token routes. `vectorize-read`, `vectorize-write`: the vector indexes.
 * `search-run`: searches and chats of AI Search. `search-read`, `search-write`: its instances, items, jobs and logs.
 */
export const PERMISSIONS = [
	"read",
	"run",
	"write",
	"gateways-write",
	"tokens-read",
	"tokens-write",
	"vectorize-read",
	"vectorize-write",
	"search-run",
	"search-read",
	"search-write",
] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** How a caller is authenticated, and the gateway in which the request runs: some tokens are valid only in one. */
export type Credential = RequestGateway &
	/** SHA-256 of a bearer token, hexadecimal. The account's object has the tokens. */
	(
		| { kind: "token"; hash: string }
		/**
		 * The operator: through the props of a service binding, `ADMIN_TOKEN`, or `ALLOW_ANONYMOUS`. `unauthenticated`: a caller without
		 * a credential, whom a gateway serves at the expense of its account.
		 */
		| { kind: "operator"; unauthenticated?: true }
	);

/** At most `perMinute` requests with the same key in any 60 seconds. */
export interface RateLimit {
	/** `task:Text Generation` or `model:@cf/…`. */
	key: string;
	perMinute: number;
}

/** A request that runs no model. It counts against rates and is not billed. */
export interface CountedRequest {
	/** Its task in the report of refusals. */
	task: string;
	rates: RateLimit[];
}

export type BudgetPeriod = "day" | "month";

/** The neurons, spent and reserved together, of all requests with the same key in a UTC day or month. */
export interface Budget {
	/** `account`, `model:@cf/…` or (added by the object, from the token's own limits) `token:{id}`. */
	key: string;
	microNeurons: number;
	/** Absent: a day. */
	period?: BudgetPeriod;
	/** The error of a request that exceeds the budget. */
	failure: FailureKey;
}

/** The maximum cost of a request. */
export interface CostEstimate {
	/** The cost without output tokens. */
	fixedMicroNeurons: number;
	microNeuronsPerOutputToken: number;
	outputTokens: number;
	/** The fewest that the object may grant if `outputUnbounded`: one for each choice of the reply. Default: 1. */
	minOutputTokens?: number;
	/**
	 * The caller set no output limit, so the object may grant fewer than `outputTokens` if a budget does not pay for all. The
	 * engine then receives the smaller limit.
	 */
	outputUnbounded: boolean;
}

export interface Admission {
	/** The request's id: `cf-ai-req-id`. */
	ticket: string;
	credential: Credential;
	model: string;
	/** The product's name of the model's task. */
	task: string;
	rates: readonly RateLimit[];
	budgets: readonly Budget[];
	cost: CostEstimate;
	/** The model has a price that is unknown, so a token's own budget cannot be enforced. */
	unpriced?: true;
	/** Milliseconds after which the request expires: if it is not settled by then, its reservation is charged until it is. */
	holdMs: number;
	/** The isolate sends the request again if it is refused, so a refusal is not counted. */
	provisional?: true;
	/** A request for a lease, so that the isolate can admit similar requests itself. */
	lease?: LeaseRequest;
}

export type Admitted =
	/**
	 * `outputTokens`: the output limit for the engine; absent if no budget limits the request. `limited`: the token has a budget of
	 * its own. `lease`: if the isolate requested one and the account is far enough below its limits.
	 */
	| { ok: true; outputTokens?: number; limited?: true; lease?: Lease }
	| {
			ok: false;
			failure: FailureKey;
			/** Replaces the failure's default message. */
			description?: string;
			/** Whole seconds after which the same request would be admitted. */
			retryAfter?: number;
			/** The rate that refuses the request. Only for `rateLimited`. */
			perMinute?: number;
			/** The gateway in which the request may run. Only for `gatewayRequired`. */
			gateway?: BoundGateway;
	  };

/**
 * `failed`: no answer, not billed. `interrupted`: a stream broke off. `cancelled`: the caller disconnected. `expired`: not
 * settled, so the reservation is charged.
 */
export const OUTCOMES = ["ok", "failed", "interrupted", "cancelled", "expired"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Earlier names of `interrupted` and `cancelled`. Stored rows may have them, and filters accept them. */
export const EARLIER_OUTCOMES = ["cut", "left"] as const;
export type EarlierOutcome = (typeof EARLIER_OUTCOMES)[number];

export const presentOutcome = (name: Outcome | EarlierOutcome): Outcome =>
	name === "cut" ? "interrupted" : name === "left" ? "cancelled" : name;

/** A call of an engine. Times are milliseconds since the caller's request. */
export interface EngineCall {
	backend: string;
	startedMs: number;
	/** Absent if the call did not fail. */
	failedMs?: number;
	/** `AiError` code of its failure. */
	code?: number;
}

/** How a request ended. The first settlement of a ticket counts; later ones are ignored. */
export interface Settlement {
	ticket: string;
	outcome: Outcome;
	microNeurons: number;
	/** 0 if the model is not priced by tokens. */
	inputTokens: number;
	cachedTokens: number;
	outputTokens: number;
	/** Whether the counts are estimates, because the engine reported none. */
	estimated: boolean;
	/** Name of the backend that answered; empty if none did. */
	backend: string;
	/** Calls of engines. */
	attempts: number;
	/** The first of them, in the order of their start. Absent if there was only one, without a failure. */
	calls?: readonly EngineCall[];
	/** Milliseconds from the caller's request to the end of the answer. */
	latencyMs: number;
	/** Milliseconds to the first part of a stream, or to a complete answer without streaming. Absent if there was none. */
	firstTokenMs?: number;
	/** `AiError` code of a failure. */
	code?: number;
}

/** The counts of a request without an answer. */
export const NOTHING_USED = {
	microNeurons: 0,
	inputTokens: 0,
	cachedTokens: 0,
	outputTokens: 0,
	estimated: false,
	backend: "",
	attempts: 0,
};

/** A request for a lease without a request to admit. */
export type Renewal = Omit<Admission, "ticket" | "lease"> & { lease: LeaseRequest };

/**
 * Leases of one credential that an isolate still uses. The object answers whether the credential and its limits are as they were at
 * the grants.
 */
export interface LeaseCheck {
	credential: Credential;
	leases: readonly string[];
}

/** A request that an isolate admitted from a lease. */
export interface LeasedRequest {
	lease: string;
	ticket: string;
	/** Milliseconds from the isolate's call for the lease to the admission. */
	afterMs: number;
	/** Maximum cost in micro-neurons. */
	reserved: number;
	/** Absent while the request is open. */
	settlement?: Settlement;
}

/** Batches of one isolate for one account, in order. A batch is sent again until it is confirmed. */
export interface JournalBatch {
	/** Random, one for each journal of an isolate. */
	journal: string;
	/** Counted from 1. The object books each number once. */
	sequence: number;
	requests: readonly LeasedRequest[];
	/** Settlements of requests that an earlier batch contained. */
	settlements: readonly Settlement[];
	/** Ids of leases that the isolate no longer uses: after this batch, their unused parts are free. */
	returned: readonly string[];
	renewals: readonly Renewal[];
}

/** One answer for each renewal. */
export type JournalAnswer = (Lease | undefined)[];

/** A positive answer of the account, for the pipeline. */
export type AdmissionGrant = Pick<Extract<Admitted, { ok: true }>, "outputTokens" | "limited">;

/** The account's part in a request. */
export interface AccountLedger {
	/** Throws `AiError` if the account refuses the request, and if its object cannot be called. */
	admit(admission: Admission): Promise<AdmissionGrant>;
	/** Admits the request from a lease, without a call of the object. Returns nothing if there is no lease with room for it. */
	admitFromLease(admission: Admission): AdmissionGrant | undefined;
	/** Queues the settlement for the account's object. Never throws. */
	settle(settlement: Settlement): void;
	/**
	 * Verifies the credential and the permission, then counts the request, if there is one. Throws `AiError` on a refusal. Only a counted
	 * request is refused by the gateway that the token binds: the other requests are verified before their gateway is known.
	 */
	verify(
		credential: Credential,
		permission: Permission,
		request?: CountedRequest,
	): Promise<VerifiedCredential>;
	/** Verifies the credential for `run`, at most a second ago: for the frames of a socket. Throws `AiError` on a refusal. */
	verifyRecently(credential: Credential): Promise<VerifiedCredential>;
	/** The gateway that the credential binds, if it is known without a call. At most five seconds old. */
	knownGateway(credential: Credential): string | undefined;
}

/** Calls of the account's object for requests that outlive this isolate. */
export interface DurableLedger {
	/** Admits requests by the object, without leases: so it knows the ticket of each. Throws if it cannot be called. */
	admitByObject(credential: Credential, admissions: readonly Admission[]): Promise<readonly Admitted[]>;
	/** Settles now. Throws if the object may not have received the settlements. A second delivery has no effect. */
	settleNow(settlements: readonly Settlement[]): Promise<void>;
}

/** The ledgers of all accounts, by account id. */
export interface Ledgers {
	of(account: string): AccountLedger;
}
