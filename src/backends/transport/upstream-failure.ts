/**
 * Maps every failure of an upstream to one of the gateway's failures.
 *
 * An engine's message about a bad request reaches the caller, shortened and without the target's secrets. It may quote
 * the input, which is the caller's own. Messages about the engine itself (5xx) are dropped. The log has the backend and
 * the status (`upstream`), and the runtime's error about the connection (`cause`).
 * Statuses 520 to 530 are Cloudflare's: a Worker's fetch returns them instead of failing.
 */
import { AiError, type AiErrorOptions, BAD_GATEWAY, type FailureKey } from "../../core/errors.ts";
import { retryAfterSeconds } from "../../outbound/retry-after.ts";
import type { BackendServices, CallContext, Target } from "../backend.ts";
import { overflowIn } from "./context-overflow.ts";
import { errorBodyOf, readError } from "./error-body.ts";
import { descriptionIn } from "./product-message.ts";
import { isQuota, keyOfRefusal, lacksRoute, NOT_IMPLEMENTED, statusOf } from "./refusal-classes.ts";
import type { SentError } from "./sent-error.ts";

/** One call of one upstream. */
export interface Call extends CallContext {
	target: Target;
	services: BackendServices;
	/** The call runs no model: the caller's trace is not for its upstream. */
	withoutTrace?: true;
	/** Maps refusals with the upstream's own codes. `undefined`: the general table decides. */
	refusal?(refusal: Refusal): AiError | undefined;
}

/** An error reply of an upstream. */
export interface Refusal {
	/** Absent: the error is inside an answer with a good status. */
	status?: number;
	/** `undefined` if it is not JSON. */
	body: unknown;
	/** Seconds. */
	retryAfter?: number | undefined;
}

const MAX_MESSAGE_CHARS = 500;

const KEY_OF_STATUS: Partial<Record<number, FailureKey>> = {
	400: "engineRefused",
	401: "upstreamUnavailable",
	402: "upstreamUnavailable",
	403: "upstreamUnavailable",
	404: "noSuchModel",
	408: "timeout",
	413: "requestTooLarge",
	422: "engineRefused",
	429: "outOfCapacity",
	503: "outOfCapacity",
	504: "timeout",
	521: "upstreamUnavailable",
	522: "upstreamUnavailable",
	523: "upstreamUnavailable",
	524: "timeout",
	525: "upstreamUnavailable",
	526: "upstreamUnavailable",
	529: "outOfCapacity",
	530: "upstreamUnavailable",
};

/** A reply with a status that is not 2xx. */
interface ErrorReply {
	status: number;
	headers: Headers;
	/** The beginning of the body. */
	text: string;
	/** A stream was requested, so the header was due before the answer was complete. */
	streams: boolean;
}

export function failureOfStatus(call: Call, { status, headers, text, streams }: ErrorReply): AiError {
	if (status === LOOP_DETECTED) return loopFailure(call);
	const body = errorBodyOf(text);
	const sent = readError(body);
	const retryAfter = roundedUp(retryAfterSeconds(headers, call.services.now()) ?? sent.retryAfter);
	const failure = call.refusal?.({ status, body, retryAfter }) ?? failureOf(call, status, sent, retryAfter);
	if (failure.key !== "timeout" || streams) return failure;
	// A proxy's limit for a complete answer. The caller decides how long an answer is (see `startDeadline`).
	const { description, upstream } = failure;
	return new AiError("modelTimeout", description, { retryAfter, ...(upstream && { upstream }) });
}

/** An error inside an answer with a good status: an event of a stream, or a 200 that contains only an error. */
export function failureOfBody(call: Call, error: unknown): AiError {
	const failure = call.refusal?.({ body: error });
	if (failure) return failure;
	const sent = readError(error);
	return failureOf(call, statusOf(sent), sent, roundedUp(sent.retryAfter));
}

/** A fetch that failed. `cause` has the runtime's error. */
export function failureOfFetch(call: Call, error: unknown): AiError {
	return failureOfTarget(call.target, "upstreamUnavailable", "cannot be reached", {
		cause: safeCause(call.target, error),
	});
}

/** The answer of a gateway to a request that runs in a circle. No attempt would end better, and each would multiply the request. */
const LOOP_DETECTED = 508;

const loopFailure = ({ target: { backend } }: Call): AiError =>
	new AiError(
		"gatewayLoop",
		`The request runs in a circle: the address of the backend '${backend}' leads back to this gateway`,
		{ upstream: { backend, status: LOOP_DETECTED } },
	);

/** Characters of an unreadable answer in the log. */
const MAX_EXCERPT_CHARS = 200;

/** An answer of an unexpected form. `received`: its text, or a value that was read of it. Its beginning is logged. */
export function failureOfShape(call: Call, expected: string, received?: unknown): AiError {
	const { target } = call;
	const excerpt = withoutSecrets(target, textOf(received)).slice(0, MAX_EXCERPT_CHARS);
	const problem = `answered with something that is not ${expected}`;
	return new AiError("executionFailed", `The backend '${target.backend}' ${problem}`, {
		status: BAD_GATEWAY,
		upstream: { backend: target.backend, ...(excerpt && { excerpt }) },
	});
}

/** The beginning of a value as JSON. A long list is not written to its end. */
const textOf = (value: unknown): string =>
	typeof value === "string"
		? value
		: (JSON.stringify(value, (_, inner: unknown) =>
				Array.isArray(inner) ? inner.slice(0, MAX_EXCERPT_CHARS) : inner,
			) ?? "");

/**
 * An answer above a limit of the gateway. The request determines the size (texts to embed, the size of an image), so no
 * circuit counts this key. Another engine may answer with fewer bytes.
 */
export function failureOfSize(call: Call, subject: string, maxBytes: number): AiError {
	const problem = `answered with ${subject} above ${maxBytes} bytes: request less at a time`;
	return failureOfTarget(call.target, "requestTooLarge", problem, { retryable: true });
}

/**
 * A well-formed answer whose content does not suit the task: no text, or not the JSON that the prompt describes. The
 * caller's input can cause it, so it names no upstream, and no circuit counts it. The sentence is "The backend 'x'" and
 * `problem`.
 */
export const failureOfContent = ({ target }: Call, problem: string): AiError =>
	new AiError("executionFailed", `The backend '${target.backend}' ${problem}`);

/** An answer that stopped before its end. `cause` has the runtime's error, if there is one. */
export function failureOfInterruption(call: Call, error?: unknown): AiError {
	return failureOfTarget(call.target, "executionFailed", "was cut off mid-answer", {
		status: BAD_GATEWAY,
		cause: safeCause(call.target, error),
	});
}

/** A failure without a status. The sentence is "The backend 'x'" and `problem`. */
export function failureOfTarget(
	{ backend }: Target,
	key: FailureKey,
	problem: string,
	options: AiErrorOptions = {},
): AiError {
	return new AiError(key, `The backend '${backend}' ${problem}`, { ...options, upstream: { backend } });
}

function failureOf(call: Call, status: number, sent: SentError, retryAfter: number | undefined): AiError {
	const { target, model } = call;
	const name = `The backend '${target.backend}'`;
	const redirects = status >= 300 && status < 400;
	const key =
		keyOfRefusal(status, sent) ??
		KEY_OF_STATUS[status] ??
		(redirects ? "upstreamUnavailable" : "executionFailed");
	const message = sent.message === undefined ? undefined : callerMessage(target, sent.message);
	const fail = (
		description?: string,
		{ retryable, answeredWith }: { retryable?: boolean; answeredWith?: typeof BAD_GATEWAY } = {},
	) =>
		new AiError(key, description, {
			status: answeredWith,
			upstream: { backend: target.backend, status },
			retryAfter,
			retryable,
			overflow: key === "contextWindowExceeded" ? overflowIn(sent.message ?? "") : undefined,
		});
	if (redirects) return fail(`${name} redirects, which is not followed`);
	switch (key) {
		case "engineRefused":
		case "refusedByModel":
		case "contextWindowExceeded":
			// 501: another engine may have the missing feature.
			return fail(message ?? `${name} refused the request`, { retryable: status === NOT_IMPLEMENTED });
		case "noSuchModel":
			// Another engine may have the model.
			return fail(
				lacksVersion(target, message) || lacksRoute(message)
					? `${name} has no such address: its url in BACKENDS may lack /v1`
					: `No such model ${model.id} or task: the backend '${target.backend}' has no model '${target.model}'`,
				{ retryable: true },
			);
		case "upstreamUnavailable":
			if (status === 402 || isQuota(sent)) return fail(`${name} has used up its quota or credit`);
			return fail(status < 500 ? `${name} refused the gateway's credentials` : `${name} cannot be reached`);
		case "timeout":
			return fail(`${name} ran out of time`);
		case "requestTooLarge":
			// A limit of the operator's account at this service. Groq: 413.
			return fail(message, { retryable: status === 429 || sent.code === "rate_limit_exceeded" });
		case "outOfCapacity":
			return fail();
		default:
			// A status other than 500 is that of a proxy before the engine, or of no engine.
			return fail(`${name} failed with HTTP ${status}`, status === 500 ? {} : { answeredWith: BAD_GATEWAY });
	}
}

/** OpenAI's routes are below a version. A 404 that names a model comes from such a route. */
const lacksVersion = ({ kind, url }: Target, message = ""): boolean =>
	kind === "openai" && !/\/(?:v\d|openai)/.test(url) && !/model/i.test(message);

/** An upstream's message without secrets, for the caller. That of another gateway loses its prefix, because the surface adds one. */
export const callerMessage = (target: Target, text: string): string =>
	shorten(withoutSecrets(target, descriptionIn(text)));

const shorten = (text: string): string =>
	text.length <= MAX_MESSAGE_CHARS ? text : `${text.slice(0, MAX_MESSAGE_CHARS)}…`;

/** The longest wait that is sent to the caller. */
const MAX_RETRY_AFTER_SECONDS = 24 * 60 * 60;

const roundedUp = (seconds: number | undefined): number | undefined =>
	seconds === undefined ? undefined : Math.min(Math.ceil(seconds), MAX_RETRY_AFTER_SECONDS);

/** Header values shorter than this are switches and versions, not credentials. */
const MIN_HEADER_SECRET_CHARS = 8;

const secretsOf = ({ headers, key }: Pick<Target, "headers" | "key">): string[] => [
	...Object.values(headers).filter((value) => value.length >= MIN_HEADER_SECRET_CHARS),
	...(key ? [key] : []),
];

/** Whether {@link withoutSecrets} could change a text. */
export const hasSecrets = (target: Pick<Target, "headers" | "key">): boolean => secretsOf(target).length > 0;

export function withoutSecrets(target: Target, text: string): string {
	// Longest first: one secret may hold another (`Bearer KEY` and `KEY`).
	const secrets = secretsOf(target).sort((a, b) => b.length - a.length);
	return secrets.reduce((clean, secret) => clean.replaceAll(secret, "[redacted]"), text);
}

/** A cause that can be logged: the runtime's errors may quote a request. */
function safeCause(target: Target, error: unknown): Error | undefined {
	if (error === undefined) return undefined;
	return new Error(shorten(withoutSecrets(target, String(error))));
}
