/**
 * One inference request, from its arrival to the end of its answer. The exchange holds what happens to the request: its
 * reservation, its calls of engines, its times and its end. The data of the request itself goes forward from step to step.
 *
 *     received -> reserved -> admitted -> streaming -> ended
 *
 * A request that its account refuses goes from `reserved` to `ended`, and one that fails before admission from `received`.
 */
import type { AccountLedger, Admission, Outcome, Settlement } from "../accounts/admission.ts";
import { type AiError, type FailedCall, toAiError } from "../core/errors.ts";
import { isObjectFailure } from "../core/object-failure.ts";
import { unlessLeft } from "../core/unless-left.ts";
import type { Measured } from "../counting/quantities.ts";
import { hostOf } from "../fleet/health.ts";
import type { Model } from "../models/model.ts";
import { microNeurons } from "../models/neurons.ts";
import type { ExchangeFacts, ExchangeObserver } from "../telemetry/exchange-observer.ts";
import { type Attempt, recordedCalls } from "./attempt.ts";
import type { PlannedTarget } from "./plan.ts";
import type { InferenceRequest, Served } from "./request.ts";

export type ExchangeState = "received" | "reserved" | "admitted" | "streaming" | "ended";

/** How an answer ended: complete, cancelled by the caller, or interrupted by a failure. */
export type AnswerOutcome = Exclude<Outcome, "failed" | "expired">;

type RequestLedger = Pick<AccountLedger, "admit" | "admitFromLease" | "settle">;

interface ExchangeServices {
	now(): number;
	/**
	 * `account`: the promise is a request of this account. Returns a promise if it waits for a place. Throws and rejects with 3040 if too many
	 * are under way.
	 */
	waitUntil(promise: Promise<unknown>, account?: string): Promise<void> | void;
	ledgers: { of(account: string): RequestLedger };
	observers: readonly ExchangeObserver[];
}

interface Reservation {
	admission: Admission;
	model: Model;
}

/** A settlement takes this long at most to reach the account's object. */
const MAX_DELIVERY_MS = 60_000;

export class Exchange implements ExchangeFacts {
	readonly id: string;
	readonly account: string;
	/** Admits the request, and settles it. */
	readonly ledger: RequestLedger;
	/** Epoch milliseconds. */
	readonly startedAt: number;
	readonly attempts: Attempt[] = [];
	readonly #services: ExchangeServices;
	/** Fires when the caller leaves. */
	readonly #signal: AbortSignal;
	readonly #observers: readonly ExchangeObserver[];
	#state: ExchangeState = "received";
	#reservation: Reservation | undefined;
	#credentialVerified: boolean;
	#hasTokenBudget = false;
	#firstByteAt: number | undefined;
	readonly #ended = Promise.withResolvers<void>();
	/** Resolves when the exchange ends. */
	readonly ended = this.#ended.promise;
	/** Failures that the observers have received. */
	#reported: readonly AiError[] = [];

	constructor(
		{ id, caller, observers = [], signal }: Pick<InferenceRequest, "id" | "caller" | "observers" | "signal">,
		services: ExchangeServices,
	) {
		this.id = id;
		this.account = caller.account;
		this.ledger = services.ledgers.of(caller.account);
		this.#credentialVerified = caller.verified ?? false;
		this.startedAt = services.now();
		this.#services = services;
		this.#signal = signal;
		this.#observers = observers.length === 0 ? services.observers : [...services.observers, ...observers];
	}

	get state(): ExchangeState {
		return this.#state;
	}

	/**
	 * The account's object is called to admit the request. From here on the exchange keeps the request's context alive until it ends, so
	 * that a caller who disconnects cannot prevent the settlement. A request in a gateway is counted by the gateway, with all models that it
	 * calls. Returns a promise if the request waits for a place. Throws and rejects with 3040 if too many requests are under way,
	 * and rejects with `aborted` if the caller leaves meanwhile.
	 */
	reserve(admission: Admission, model: Model): Promise<void> | undefined {
		const isInGateway = typeof admission.credential.gateway === "string";
		const place = this.#services.waitUntil(this.ended, isInGateway ? undefined : this.account);
		const reserve = (): void => {
			this.#state = "reserved";
			this.#reservation = { admission, model };
		};
		if (place) return unlessLeft(place, this.#signal).then(reserve);
		reserve();
		return undefined;
	}

	/** The account has admitted the request. `limited`: the token has a budget of its own. */
	admit({ limited = false }: { limited?: boolean }): void {
		if (this.#state === "reserved") this.#state = "admitted";
		this.#credentialVerified = true;
		this.#hasTokenBudget = limited;
	}

	/** The account has refused the request, or could not be called: there is nothing to settle. */
	refuse(failure: AiError): void {
		// The object verifies the credential before it checks any limit.
		if (!isObjectFailure(failure)) this.#credentialVerified = true;
		this.#end({ failure });
	}

	/** Another exchange replaces this one. The observers receive nothing of it. */
	dismiss(): void {
		this.#state = "ended";
		this.#credentialVerified = true;
		this.#ended.resolve();
	}

	/** Whether a budget limits the request: it must not use more than its reservation. */
	get isLimited(): boolean {
		return this.#hasTokenBudget || (this.#reservation?.admission.budgets.length ?? 0) > 0;
	}

	/** Milliseconds within which the request can be settled. After that its reservation is charged. Unlimited before it. */
	get settlementMs(): number {
		if (!this.#reservation) return Number.POSITIVE_INFINITY;
		const { holdMs } = this.#reservation.admission;
		const limitMs = holdMs - Math.min(MAX_DELIVERY_MS, holdMs / 10);
		const leftMs = this.startedAt + limitMs - this.#services.now();
		// No wait before the first call is so long: the clock was set forward, or the machine has slept. A late settlement replaces the charge.
		return leftMs <= 0 && this.attempts.length === 0 ? limitMs : Math.max(0, leftMs);
	}

	/** A call of an engine starts. */
	attempt(target: PlannedTarget): Attempt {
		const startedAt = this.#services.now();
		const attempt: Attempt = { number: this.attempts.length + 1, target, startedAt };
		this.attempts.push(attempt);
		return attempt;
	}

	/** The call failed, before or during its answer. What was read of it is dropped. */
	attemptFailed(attempt: Attempt, failure: AiError): void {
		attempt.reply?.release();
		attempt.failure = failure;
		failure.place = this.#placeOf(attempt);
		attempt.failedAt = this.#services.now();
		this.markReported(failure);
		for (const observer of this.#observers) observer.attemptFailed?.(this, failure);
	}

	/** The failure only combines failures that {@link attemptFailed} has reported. */
	markReported(failure: AiError): AiError {
		this.#reported = [...this.#reported, failure];
		return failure;
	}

	/** The first part of the answer goes to the caller. */
	begin(): void {
		this.#firstByteAt ??= this.#services.now();
		if (this.#state === "admitted") this.#state = "streaming";
	}

	/**
	 * The answer has ended. Only the first end counts. `hedgedMicroNeurons`: the cost of other engines that were called in
	 * parallel. `failure`: the reason of an interruption.
	 *
	 * @returns the cost in micro-neurons.
	 */
	complete(outcome: AnswerOutcome, { measured, served, hedgedMicroNeurons = 0, failure }: AnswerEnd): number {
		if (!this.#reservation) throw new Error("The exchange has no reservation");
		const { quantities, estimated } = measured;
		const cost = microNeurons(this.#reservation.model.prices, quantities) + hedgedMicroNeurons;
		const { inputTokens = 0, cachedTokens = 0, cacheWriteTokens, outputTokens = 0 } = quantities;
		this.#end({
			...(failure && { failure }),
			...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
			settlement: {
				outcome,
				microNeurons: cost,
				inputTokens,
				cachedTokens,
				outputTokens,
				estimated,
				backend: served.backend,
				attempts: served.attempts,
			},
		});
		return cost;
	}

	/**
	 * The request has no answer, and costs nothing. A caller that has left is no failure; if an engine then works on the request, it costs
	 * its input: `measureInput`. Returns the failure with what the surface needs to render it.
	 */
	fail(thrown: unknown, measureInput?: () => Measured): AiError {
		const failure = toAiError(thrown);
		const attempts = this.attempts.length;
		const isAdmitted = this.#state === "admitted" || this.#state === "streaming";
		failure.exchange = { attempts, isAdmitted, credentialVerified: this.#credentialVerified };
		const isAborted = failure.key === "aborted";
		const isSent = isAborted && this.#state === "admitted" && attempts > 0 && !this.attempts.at(-1)?.failure;
		const { quantities = {}, estimated = false } = (isSent && measureInput?.()) || {};
		this.#end({
			failure,
			...(this.#reservation && {
				settlement: {
					...(isAborted
						? { outcome: "cancelled" as const }
						: { outcome: "failed" as const, code: failure.code }),
					microNeurons: microNeurons(this.#reservation.model.prices, quantities),
					inputTokens: quantities.inputTokens ?? 0,
					cachedTokens: 0,
					outputTokens: 0,
					estimated,
					backend: failure.upstream?.backend ?? "",
					attempts,
				},
			}),
		});
		return failure;
	}

	#placeOf({ number, target, prefill }: Attempt): FailedCall {
		const { backend, url } = prefill ?? target;
		const model = this.#reservation?.model.id ?? "";
		return { account: this.account, model, backend, replica: hostOf(url), attempt: number };
	}

	#end({ failure, settlement, cacheWriteTokens }: EndFacts): void {
		if (this.#state === "ended") return;
		this.#state = "ended";
		const endedAt = this.#services.now();
		const last = this.attempts.at(-1);
		const hasOtherCalls = this.attempts.length > 1 || last?.failure !== undefined;
		if (failure?.upstream && !failure.place && last) failure.place = this.#placeOf(last);
		const admission = this.#reservation?.admission;
		// A complete answer has no parts. A request that failed before its first part has no such time.
		const firstTokenAt = this.#firstByteAt ?? (settlement?.outcome === "ok" ? endedAt : undefined);
		const settled = admission &&
			settlement && {
				admission,
				...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
				settlement: {
					ticket: admission.ticket,
					...settlement,
					...(hasOtherCalls && { calls: recordedCalls(this.attempts, this.startedAt) }),
					latencyMs: endedAt - this.startedAt,
					...(firstTokenAt !== undefined && { firstTokenMs: firstTokenAt - this.startedAt }),
				},
			};
		if (settled) this.ledger.settle(settled.settlement);
		const unreported = failure && !this.#reported.includes(failure) ? failure : undefined;
		for (const observer of this.#observers) {
			if (settled) observer.settled?.(this, settled);
			if (unreported) observer.failed?.(this, unreported);
		}
		// Lets the runtime end the request's context.
		this.#ended.resolve();
	}
}

export interface AnswerEnd {
	measured: Measured;
	served: Served;
	hedgedMicroNeurons?: number;
	failure?: AiError;
}

interface EndFacts {
	failure?: AiError;
	settlement?: Omit<Settlement, "ticket" | "latencyMs" | "firstTokenMs">;
	cacheWriteTokens?: number;
}
