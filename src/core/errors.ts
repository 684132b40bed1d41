/**
 * The error of every failure. Code throws a failure of the table as an {@link AiError}, and the surface renders it; nothing below a
 * surface builds a `Response`.
 */
import { FAILURES, type Failure, type FailureKey } from "./failures.ts";

export { FAILURES, type Failure, type FailureKey };

export interface AiErrorOptions {
	cause?: unknown;
	/** The upstream's `Retry-After` in seconds. */
	retryAfter?: number;
	/** The rate of the account or the token that refuses the request. */
	perMinute?: number;
	/** Overrides the table: a model that one engine lacks may be on another. */
	retryable?: boolean;
	/** The same target would fail again. Another one may succeed. */
	isLasting?: true;
	/** It does not count against the health of the engine, which works. */
	isOfWorkingEngine?: true;
	/** Overrides the table. */
	status?: Failure["status"];
	/** The upstream that failed. For the log. */
	upstream?: Upstream;
	/** For `contextWindowExceeded`, if the counts are known. */
	overflow?: ContextOverflow | undefined;
	/** The field of the request that the failure is about, if the description does not begin with it. */
	field?: string | undefined;
}

/** Why a request exceeds the context of a model. Clients decide by the counts what to shorten. */
export interface ContextOverflow {
	inputTokens: number;
	/** The maximum that was requested. Absent: not known, or not the reason. */
	outputTokens?: number;
	/** Tokens of the context. */
	limit: number;
}

export interface Upstream {
	/** Name in `BACKENDS`. */
	backend: string;
	/** HTTP status of its refusal, or the equivalent status of a refusal inside a reply. */
	status?: number;
	/** The beginning of an answer that cannot be read, without secrets. No caller sees it. */
	excerpt?: string;
}

/** Names and numbers for the operator's log. Contains no secret and nothing of the request's content. */
export interface FailedCall {
	account?: string;
	model: string;
	backend: string;
	/** Host of the engine's address. */
	replica: string;
	/** Number of the call within its request, counted from 1. */
	attempt: number;
}

/** The provider of a gateway that cannot be reached. For the operator's log. */
interface FailedProvider {
	account: string;
	gateway: string;
	/** Its slug. */
	provider: string;
	host: string;
}

/** The collector of a gateway that did not receive an export. For the operator's log: its path and its headers may have secrets. */
export interface FailedCollector {
	account: string;
	gateway: string;
	kind: "metrics" | "spans";
	host: string;
	/** Why it was not sent. `full`: too many calls or bytes are under way. `paused`: the collector has failed. `refused`: its address is not allowed. */
	reason: "failed" | "full" | "paused" | "refused";
	/** HTTP status of its answer, if there was one. */
	status?: number;
}

/** State of the exchange when its request failed. */
interface FailedExchange {
	/** Calls of engines. */
	attempts: number;
	/** Its account had admitted it, so it was dispatched. */
	isAdmitted: boolean;
	/** The account has verified the credential, so the failure may be disclosed to the caller. */
	credentialVerified: boolean;
}

/** The Durable Object that failed. For the operator's log: `object` is the name of its SQLite file. */
interface FailedObject {
	account: string;
	object: string;
}

/** The store of objects that failed. For the operator's log. */
interface FailedStore {
	/** Its host or binding. */
	store: string;
	bucket?: string;
	/** Where it is configured. */
	setting: string;
	/** HTTP status of its refusal. */
	status?: number;
	/** The code of its refusal. */
	storeCode?: string;
}

/** A failure of the table with a description for this request. The caller sees the description: no secrets, no prompts. */
export class AiError extends Error {
	override readonly name = "AiError";
	readonly key: FailureKey;
	readonly description: string;
	readonly retryAfter: number | undefined;
	readonly perMinute: number | undefined;
	readonly retryable: boolean;
	readonly isLasting: boolean;
	readonly isOfWorkingEngine: boolean;
	readonly upstream: Upstream | undefined;
	readonly #status: Failure["status"] | undefined;
	readonly overflow: ContextOverflow | undefined;
	readonly field: string | undefined;
	/** The request that failed, for the surface that renders the failure. Set when the exchange ends. */
	exchange: FailedExchange | undefined;
	/** The call of an engine, an object, a provider or a collector that failed, for the log. Set by the code that made the call. */
	place: FailedCall | FailedCollector | FailedObject | FailedProvider | FailedStore | undefined;

	constructor(key: FailureKey, description?: string, options: AiErrorOptions = {}) {
		const text = description ?? FAILURES[key].description;
		super(`${FAILURES[key].code}: ${text}`, { cause: options.cause });
		this.key = key;
		this.description = text;
		this.retryAfter = options.retryAfter;
		this.perMinute = options.perMinute;
		this.retryable = options.retryable ?? FAILURES[key].retryable;
		this.isLasting = options.isLasting ?? false;
		this.isOfWorkingEngine = options.isOfWorkingEngine ?? false;
		this.upstream = options.upstream;
		this.#status = options.status;
		this.overflow = options.overflow;
		this.field = options.field;
	}

	get failure(): Failure {
		return FAILURES[this.key];
	}

	get code(): number {
		return this.failure.code;
	}

	get status(): Failure["status"] {
		return this.#status ?? this.failure.status;
	}
}

/** The status of an answer of an engine that cannot be used. */
export const BAD_GATEWAY = 502;

/** Converts anything thrown. The text of an unknown error goes to the log (`cause`), not to the caller. */
export function toAiError(error: unknown): AiError {
	if (error instanceof AiError) return error;
	if (error instanceof Error && error.name === "AbortError")
		return new AiError("aborted", undefined, { cause: error });
	return new AiError("executionFailed", undefined, { cause: error });
}
