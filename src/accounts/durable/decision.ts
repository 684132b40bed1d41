/** Decides about a request by all limits that apply to it, those of its token included. Counts and reserves nothing. */
import { FAILURES, type FailureKey } from "../../core/errors.ts";
import type { Admission, Admitted, Budget, RateLimit } from "../admission.ts";
import type { BoundGateway } from "../bound-gateway.ts";
import { type Instant, nextMidnight, nextMonth } from "../clock.ts";
import type { TokenLimits } from "../token-command.ts";
import { type Budgets, describeRefusal, describeUnpriced } from "./budgets.ts";
import type { LimitStatusQuery } from "./limit-status.ts";
import type { FullRate, Windows } from "./windows.ts";

/** A valid token and its own limits. */
export interface VerifiedToken {
	id: string;
	limits: TokenLimits;
	/** Epoch milliseconds. */
	expiresOn?: number;
	gateway?: BoundGateway;
}

/** A token with its name, for reports. */
export type NamedToken = Pick<VerifiedToken, "id" | "limits"> & { name: string };

export function budgetsOfToken({ id, limits }: Pick<VerifiedToken, "id" | "limits">): Budget[] {
	const { dailyMicroNeurons, monthlyMicroNeurons } = limits;
	const own = { key: `token:${id}`, failure: "budgetExceeded" } as const;
	const budgets: Budget[] = [];
	if (dailyMicroNeurons !== undefined) budgets.push({ ...own, microNeurons: dailyMicroNeurons });
	if (monthlyMicroNeurons !== undefined)
		budgets.push({ ...own, microNeurons: monthlyMicroNeurons, period: "month" });
	return budgets;
}

interface RequestLimits {
	budgets: readonly Budget[];
	rates: readonly RateLimit[];
}

/** Adds the token's own limits to those of the account and the model. `limited`: the token has a budget. */
export function withTokenLimits(
	{ budgets, rates }: RequestLimits,
	token: VerifiedToken | undefined,
): RequestLimits & { limited: boolean } {
	if (!token) return { budgets, rates, limited: false };
	const { requestsPerMinute: perMinute } = token.limits;
	const own = budgetsOfToken(token);
	return {
		limited: own.length > 0,
		budgets: [...budgets, ...own],
		rates: perMinute === undefined ? rates : [...rates, { key: `token:${token.id}`, perMinute }],
	};
}

/** The refusal by one limit. */
interface LimitRefusal {
	failure: FailureKey;
	description?: string;
	/** When the same request would be admitted; infinite if never. */
	until: number;
	/** Requests per minute. Only for `rateLimited`. */
	perMinute?: number;
}

/** `rate limiting: inference request per min rate reached: the limit of this token is 30 per minute` */
export function rateRefusal({ rate: { key, perMinute }, until }: FullRate): LimitRefusal {
	const [kind, ...id] = key.split(":");
	const owner = kind === "token" ? "this token" : `the account for ${id.join(":")}`;
	const description = `${FAILURES.rateLimited.description}: the limit of ${owner} is ${perMinute} per minute`;
	return { failure: "rateLimited", description, until, perMinute };
}

interface LimitDecision {
	answer: Admitted;
	/** Includes the token's own rate. */
	rates: readonly RateLimit[];
	/** Micro-neurons. */
	reserved: number;
}

/** The refusal that lasts longest: after it the request would be admitted. */
export function longestRefusal(
	refusals: readonly LimitRefusal[],
	{ clock }: Instant,
): Extract<Admitted, { ok: false }> {
	const { failure, description, perMinute, until } = refusals.reduce((a, b) => (b.until > a.until ? b : a));
	return {
		ok: false,
		failure,
		...(description !== undefined && { description }),
		...(perMinute !== undefined && { perMinute }),
		...(Number.isFinite(until) && { retryAfter: Math.ceil((until - clock) / 1000) }),
	};
}

type LimitedRequest = Pick<Admission, "model" | "unpriced" | "cost"> &
	Pick<LimitStatusQuery, "budgets" | "rates">;

interface AccountState {
	budgets: Budgets;
	windows: Windows;
}

/** The end of a running request is unknown, and most end soon. */
const RESERVED_RETRY_MS = 1_000;

export function decide(
	request: LimitedRequest,
	token: VerifiedToken | undefined,
	{ budgets: balances, windows }: AccountState,
	instant: Instant,
): LimitDecision {
	const { model, unpriced } = request;
	const { now } = instant;
	const { budgets, rates, limited } = withTokenLimits(request, token);
	const full = windows.refusing(rates, now);
	const grant = balances.grant(request.cost, budgets);
	const refusals: LimitRefusal[] = [];
	if (unpriced && limited)
		refusals.push({
			failure: "missingProviderKey",
			description: describeUnpriced(model, "token"),
			until: Number.POSITIVE_INFINITY,
		});
	if (full) refusals.push(rateRefusal(full));
	if (grant.kind === "refused") {
		const { budget, held, cost, remaining } = grant;
		const { failure, microNeurons, period } = budget;
		const isNever = cost > microNeurons;
		const isReserved = !isNever && cost <= remaining + held;
		const next = period === "month" ? nextMonth(now) : nextMidnight(now);
		if (isReserved)
			refusals.push({
				failure: "budgetReserved",
				description: describeRefusal(grant),
				until: instant.clock + RESERVED_RETRY_MS,
			});
		else
			refusals.push({
				failure,
				...(failure === "budgetExceeded" && { description: describeRefusal(grant) }),
				until: isNever ? Number.POSITIVE_INFINITY : next,
			});
	}
	if (grant.kind === "refused" || refusals.length > 0)
		return { answer: longestRefusal(refusals, instant), rates, reserved: 0 };
	const { microNeurons: reserved, outputTokens } = grant;
	const answer: Admitted = {
		ok: true,
		...(outputTokens !== undefined && { outputTokens }),
		...(limited && { limited: true }),
	};
	return { answer, rates, reserved };
}

/** How many more requests these rates would admit now. Infinite without a rate. */
export function remainingInRates(rates: readonly RateLimit[], windows: Windows, now: number): number {
	let remaining = Number.POSITIVE_INFINITY;
	for (const { key, perMinute } of rates)
		remaining = Math.min(remaining, Math.max(0, perMinute - windows.used(key, now)));
	return remaining;
}

export function keysOf(rates: readonly RateLimit[]): string[] {
	const keys: string[] = [];
	for (const { key } of rates) keys.push(key);
	return keys;
}
