/**
 * Repeats failed attempts of a step. An attempt fails if the network fails, if its first byte is late, or if the answer has
 * status 408, 429 or 5xx. The settings of the gateway have the defaults of the headers `cf-aig-max-attempts`,
 * `cf-aig-retry-delay`, `cf-aig-backoff` and `cf-aig-request-timeout`.
 *
 * The first byte of an answer is its status line. A model's stream has it with its first event, a complete answer of a
 * model when it is complete. The last of several attempts has no timeout, unless another step follows.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import type { StartTimer } from "../../core/lazy-timer.ts";
import { withTimeout } from "../../core/with-timeout.ts";
import type { GatewayFacts } from "../exchange.ts";
import type { GatewayMiddleware, GatewayRequest } from "../request.ts";
import type { Backoff } from "../settings.ts";

/**
 * Attempts of one request to a gateway, over all its steps. A universal request may have 32 steps, each may name an alias of 32 models, and each of
 * those may be attempted five times. The last attempt's answer is that of the request.
 */
const MAX_ATTEMPTS_OF_REQUEST = 40;
/** If neither the request nor the gateway has a delay. */
const DEFAULT_DELAY_MS = 100;

interface RetryServices {
	/** Resolves after the time; rejects with the signal's reason if it fires first. */
	wait(milliseconds: number, signal?: AbortSignal): Promise<void>;
	startTimer: StartTimer;
}

interface RetryPlan {
	/** Attempts in total. */
	attempts: number;
	delayMs: number;
	backoff: Backoff;
	/** Absent: an attempt has no timeout. */
	timeoutMs: number | undefined;
}

function retryPlan({ step: { options }, settings }: Pick<GatewayRequest, "step" | "settings">): RetryPlan {
	return {
		attempts: options.maxAttempts ?? settings.retry_max_attempts ?? 1,
		delayMs: options.retryDelay ?? settings.retry_delay ?? DEFAULT_DELAY_MS,
		backoff: options.backoff ?? settings.retry_backoff ?? "constant",
		timeoutMs: options.requestTimeout,
	};
}

/** Milliseconds before the attempt after attempt `attempt`, counted from 1. */
export function delayAfter(
	attempt: number,
	{ delayMs, backoff }: Pick<RetryPlan, "delayMs" | "backoff">,
): number {
	switch (backoff) {
		case "constant":
			return delayMs;
		case "linear":
			return delayMs * attempt;
		case "exponential":
			return delayMs * 2 ** (attempt - 1);
		default:
			return backoff satisfies never;
	}
}

/** Whether the request has made all its attempts. */
export const isExhausted = ({ attempts = 0 }: Pick<GatewayFacts, "attempts">): boolean =>
	attempts >= MAX_ATTEMPTS_OF_REQUEST;

const isFailedStatus = (status: number): boolean => status === 408 || status === 429 || status >= 500;

/** Throws `attemptTimeout`, or the error of the last attempt. */
export function retryMiddleware({ startTimer, wait }: RetryServices): GatewayMiddleware {
	return async (request, next) => {
		const plan = retryPlan(request);
		const { exchange, signal } = request;
		for (let attempt = 1; ; attempt++) {
			exchange.report({ attempts: (exchange.facts.attempts ?? 0) + 1 });
			const isLast = attempt >= plan.attempts || isExhausted(exchange.facts);
			const waitsForever = isLast && attempt > 1 && !request.hasFallback;
			const timeoutMs = waitsForever ? undefined : plan.timeoutMs;
			const outcome = await tryOnce(request, next, { timeoutMs, startTimer });
			if (isLast || signal.aborted || !hasFailed(outcome)) return unwrapped(outcome);
			drop(outcome);
			await wait(delayAfter(attempt, plan), signal);
		}
	};
}

function unwrapped(outcome: Response | AiError): Response {
	if (outcome instanceof Response) return outcome;
	throw outcome;
}

/** An unread body keeps its connection open. */
function drop(outcome: Response | AiError): void {
	if (outcome instanceof Response) void outcome.body?.cancel().catch(() => {});
}

const hasFailed = (outcome: Response | AiError): boolean =>
	isFailedStatus(outcome.status) || (outcome instanceof AiError && outcome.key === "providerUnreachable");

async function tryOnce(
	request: GatewayRequest,
	next: (request: GatewayRequest) => Promise<Response>,
	{ timeoutMs, startTimer }: { timeoutMs: number | undefined; startTimer: StartTimer },
): Promise<Response | AiError> {
	if (timeoutMs === undefined) return next(request).catch(toAiError);
	const ending = new AbortController();
	const signal = AbortSignal.any([request.signal, ending.signal]);
	const answer = next({ ...request, signal }).catch(toAiError);
	const late = () => new AiError("attemptTimeout", `The provider did not answer within ${timeoutMs} ms`);
	try {
		return await withTimeout(answer, timeoutMs, late, { startTimer, left: request.signal });
	} catch (failure) {
		ending.abort(failure);
		// The call ends at once, and its usage is known. An answer that has arrived nevertheless has no reader.
		drop(await answer);
		return toAiError(failure);
	}
}
