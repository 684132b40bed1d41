/**
 * What a request asks of its account and how it ended: the messages between the pipeline and the `Account` object.
 * Plain data, because it crosses RPC and is kept in tables. Neurons are whole millionths (*micro-neurons*): sums of
 * them are exact.
 */
import type { FailureKey } from "../core/errors.ts";

export const MICRO_NEURONS = 1_000_000;

/** What a token may do. `run`: inference. `read`: the catalogue, usage. `write`: what changes models. `tokens`: make others. */
export const PERMISSIONS = ["read", "run", "write", "tokens-read", "tokens-write"] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** Who vouches for a caller. */
export type Credential =
	/** SHA-256 of a bearer token, hexadecimal. The account's object knows whether there is such a token. */
	| { kind: "token"; hash: string }
	/** The operator: by the props of a service binding, by `ADMIN_TOKEN`, or by opening the gateway to everyone. */
	| { kind: "operator" };

/** At most `perMinute` requests in any 60 seconds, of all that name the same key. */
export interface RateLimit {
	/** `task:Text Generation` or `model:@cf/…`. */
	key: string;
	perMinute: number;
}

/** A request that runs no model: it counts against rates, and is never billed. */
export interface CountedRequest {
	/** Names it among the refusals. */
	task: string;
	rates: RateLimit[];
}

export type BudgetPeriod = "day" | "month";

/** At most so many neurons in a UTC day or month, spent and reserved together, of all requests that name the same key. */
export interface Budget {
	/** `account`, `model:@cf/…` or (added by the object, from the token's own limits) `token:{id}`. */
	key: string;
	microNeurons: number;
	/** Absent: a day. */
	period?: BudgetPeriod;
	/** What the caller is told where it is used up. */
	failure: FailureKey;
}

/**
 * What a request may cost, at most. `open`: the caller set no limit of output, so the object may grant less output than
 * `outputTokens` where a budget has not room for all; the engine is then told.
 */
export interface CostEstimate {
	/** Everything but output tokens. */
	fixedMicroNeurons: number;
	microNeuronsPerOutputToken: number;
	outputTokens: number;
	/** Fewest that the object may grant an open request: one for each choice of its reply. 1 where absent. */
	minOutputTokens?: number;
	outputUnbounded: boolean;
}

export interface Admission {
	/** The request's id: `cf-ai-req-id`. */
	ticket: string;
	credential: Credential;
	model: string;
	/** The product's name of the model's task. */
	task: string;
	rates: RateLimit[];
	budgets: Budget[];
	cost: CostEstimate;
	/** Somebody is paid for the model, and nobody knows how much: no budget of a token's own can hold. */
	unpriced?: true;
	/** Milliseconds after which nobody will settle this any more, and the reservation becomes the bill. */
	holdMs: number;
}

export type Admitted =
	/** `outputTokens`: no more than these may be asked of an engine. Absent: no budget limits the request. */
	/** `limited`: the token has a budget of its own. */
	/** `room`: how many more requests like this one would be let in now. */
	| { ok: true; outputTokens?: number; limited?: true; remaining?: number }
	| {
			ok: false;
			failure: FailureKey;
			/** For the caller, where there is more to say than the failure's own sentence. */
			description?: string;
			/** Whole seconds after which the same request would be let in. */
			retryAfter?: number;
	  };

/**
 * `failed`: no answer, not billed. `interrupted`: a stream broke off. `cancelled`: the caller disconnected. `expired`: never
 * settled, so the reservation was charged.
 */
export const OUTCOMES = ["ok", "failed", "interrupted", "cancelled", "expired"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Earlier names of `interrupted` and `cancelled`. Stored rows may have them, and filters accept them. */
export const EARLIER_OUTCOMES = ["cut", "left"] as const;
export type EarlierOutcome = (typeof EARLIER_OUTCOMES)[number];

export const presentOutcome = (name: Outcome | EarlierOutcome): Outcome =>
	name === "cut" ? "interrupted" : name === "left" ? "cancelled" : name;

/** How one request ended. The first settlement of a ticket counts, any other of it is ignored. */
export interface Settlement {
	ticket: string;
	outcome: Outcome;
	microNeurons: number;
	/** Absent where the model is not paid by tokens. */
	inputTokens: number;
	cachedTokens: number;
	outputTokens: number;
	/** Whether the counts are our own, because the engine gave none. */
	estimated: boolean;
	/** Name of the backend that answered; empty where none did. */
	backend: string;
	/** Calls of engines. */
	attempts: number;
	/** Milliseconds from the caller's request to the end of the answer. */
	latencyMs: number;
	/** Milliseconds to the first piece of a stream, or to the whole of another answer. */
	firstTokenMs?: number;
	/** `AiError` code, where it failed. */
	code?: number;
}

/** What an account has let in. */
export type Granted = Omit<Extract<Admitted, { ok: true }>, "ok" | "room">;

/** A request on its way ahead of the account's word. */
export interface SpeculativeAdmission {
	/** What the account will say, as far as one can know. */
	expected: Granted;
	/** What it says; as {@link AccountLedger.admit}. Nobody may have an answer before. */
	decision: Promise<Granted>;
	/** The request can do nothing more without the word. */
	requireDecision(): void;
}

/** The account as a request sees it. */
export interface AccountLedger {
	/** One call of the account's object. Throws `AiError` where the answer is no, and where the object cannot be asked. */
	admit(admission: Admission): Promise<Granted>;
	/**
	 * Admits a request of which one can know what the account will say: an engine may be asked meanwhile. `undefined`:
	 * nobody knows, and nothing is on its way.
	 */
	speculate(admission: Admission): SpeculativeAdmission | undefined;
	/** Takes note; the object learns of it soon, together with others. Never throws. */
	settle(settlement: Settlement): void;
	/**
	 * Whether the credential holds and has the permission; then counts the request, where there is one. Throws `AiError`
	 * where the account refuses either.
	 */
	verify(credential: Credential, permission: Permission, request?: CountedRequest): Promise<void>;
}

/** Every account's ledger, by the account's id. */
export interface Ledgers {
	of(account: string): AccountLedger;
}
