/**
 * Every way an upstream can say no, as one of the gateway's own failures.
 *
 * An engine's sentence about a bad request is passed on (it may quote the input, but only back to whoever sent it),
 * shortened and without the target's secrets. Sentences about the engine itself (5xx) go nowhere. For the log there are
 * the backend and the status in `upstream`, and in `cause` what the runtime said of the connection.
 * Statuses 520 to 530 are Cloudflare's, where a Worker's fetch answers instead of failing.
 */
import { AiError, type AiErrorOptions, type FailureKey } from "../../core/errors.ts";
import { parseJson } from "../../core/json.ts";
import type { CallContext, Target, World } from "../backend.ts";
import { isQuota, keyOfRefusal, NOT_IMPLEMENTED, type SentError, statusOf } from "./refusal-classes.ts";

/** One question to one upstream. */
export interface Call extends CallContext {
	target: Target;
	world: World;
	/** Of an upstream whose refusals have codes of their own: what one means, where the code says. */
	refusal?(refusal: Refusal): AiError | undefined;
}

/** An upstream's no. */
export interface Refusal {
	/** Absent: told inside an answer that had begun well. */
	status?: number;
	/** `undefined` where it is not JSON. */
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

/** What an upstream answered with a status that is not 2xx. */
export interface ErrorReply {
	status: number;
	headers: Headers;
	/** The beginning of the body. */
	text: string;
	/** The request asked for a stream, so the header was due before the answer was made. */
	streams: boolean;
}

export function failureOfStatus(call: Call, { status, headers, text, streams }: ErrorReply): AiError {
	const body = parseJson(text);
	const retryAfter = retryAfterSeconds(headers, call.world.now());
	const failure =
		call.refusal?.({ status, body, retryAfter }) ?? failureOf(call, status, readError(body), retryAfter);
	if (failure.key !== "timeout" || streams) return failure;
	// A proxy's time for a complete answer is up. The caller decides how long an answer is (see `startDeadline`).
	const { description, upstream } = failure;
	return new AiError("modelTimeout", description, { retryAfter, ...(upstream && { upstream }) });
}

/** An error told inside an answer that had begun well: an event of a stream, or a 200 with nothing but an error. */
export function failureOfBody(call: Call, error: unknown): AiError {
	const refused = call.refusal?.({ body: error });
	if (refused) return refused;
	const sent = readError(error);
	return failureOf(call, statusOf(sent), sent, undefined);
}

/** A fetch that failed, with what the runtime said of it in `cause`. */
export function failureOfFetch(call: Call, error: unknown): AiError {
	return failureOfTarget(call.target, "upstreamUnavailable", "cannot be reached", {
		cause: safeCause(call.target, error),
	});
}

/** An answer that is not what was asked for. */
export function failureOfShape(call: Call, expected: string): AiError {
	const what = `answered with something that is not ${expected}`;
	return failureOfTarget(call.target, "executionFailed", what);
}

/**
 * An answer above a bound of the gateway. How much an engine answers is the caller's choice (texts to embed, the size of
 * an image), so the key is one that no circuit counts; another engine may answer in less.
 */
export function failureOfSize(call: Call, what: string, maxBytes: number): AiError {
	const problem = `answered with ${what} above ${maxBytes} bytes: ask for less in one request`;
	return failureOfTarget(call.target, "requestTooLarge", problem, { retryable: true });
}

/**
 * A well-formed answer whose content is not what the task needs: no text, not the JSON that the prompt describes. The
 * caller's input can cause it, so it names no upstream, and no circuit counts it.
 */
export const failureOfContent = ({ target }: Call, what: string): AiError =>
	new AiError("executionFailed", `The backend '${target.backend}' ${what}`);

/** An answer that stopped before its end, with what the runtime said of it in `cause`. */
export function failureOfCut(call: Call, error?: unknown): AiError {
	return failureOfTarget(call.target, "executionFailed", "was cut off mid-answer", {
		cause: safeCause(call.target, error),
	});
}

/** A failure without a status; `what` goes on where "The backend 'x'" has begun. */
export function failureOfTarget(
	{ backend }: Target,
	key: FailureKey,
	what: string,
	options: AiErrorOptions = {},
): AiError {
	return new AiError(key, `The backend '${backend}' ${what}`, { ...options, upstream: { backend } });
}

function failureOf(call: Call, status: number, sent: SentError, retryAfter: number | undefined): AiError {
	const { target, model } = call;
	const name = `The backend '${target.backend}'`;
	const redirects = status >= 300 && status < 400;
	const key =
		keyOfRefusal(status, sent) ??
		KEY_OF_STATUS[status] ??
		(redirects ? "upstreamUnavailable" : "executionFailed");
	const message = sent.message === undefined ? undefined : sentenceFor(target, sent.message);
	const fail = (description?: string, retryable?: boolean) =>
		new AiError(key, description, { upstream: { backend: target.backend, status }, retryAfter, retryable });
	if (redirects) return fail(`${name} redirects, which is not followed`);
	switch (key) {
		case "engineRefused":
		case "refusedByModel":
		case "contextWindowExceeded":
			// 501: another engine may have what this one lacks.
			return fail(message ?? `${name} refused the request`, status === NOT_IMPLEMENTED);
		case "noSuchModel":
			// For this target only: another engine may have it.
			return fail(
				lacksVersion(target, message)
					? `${name} has no such address: its url in BACKENDS may lack /v1`
					: `No such model ${model.id} or task: the backend '${target.backend}' has no model '${target.model}'`,
				true,
			);
		case "upstreamUnavailable":
			if (isQuota(sent)) return fail(`${name} has used up its quota or credit`);
			return fail(status < 500 ? `${name} refused the gateway's credentials` : `${name} cannot be reached`);
		case "timeout":
			return fail(`${name} ran out of time`);
		case "requestTooLarge":
			// 429: the limit is one of the operator's account at this service.
			return fail(message, status === 429);
		case "outOfCapacity":
			return fail();
		default:
			return fail(`${name} failed with HTTP ${status}`);
	}
}

/** OpenAI's routes are below a version. A 404 that names a model has found them. */
const lacksVersion = ({ kind, url }: Target, message = ""): boolean =>
	kind === "openai" && !/\/(?:v\d|openai)/.test(url) && !/model/i.test(message);

/**
 * The shapes seen: `{error: {message, type, code}}` (OpenAI, llama.cpp, SGLang, newer vLLM), `{message, type, code}`
 * (older vLLM), `{error: "…"}` (LM Studio, TEI, Infinity), `{detail: "…"}` and `{detail: [{msg}]}` (FastAPI).
 */
function readError(body: unknown): SentError {
	if (typeof body === "string") return { message: body };
	if (typeof body !== "object" || body === null) return {};
	if ("error" in body && body.error !== null) return readError(body.error);
	const field = (name: string): unknown => (body as Record<string, unknown>)[name];
	const detail = field("detail");
	const message = field("message") ?? (Array.isArray(detail) ? detail.map(detailMessage).join("; ") : detail);
	const text = (value: unknown) =>
		typeof value === "string" ? value : typeof value === "number" ? String(value) : undefined;
	return { message: text(message), code: text(field("code")), type: text(field("type")) };
}

const detailMessage = (item: unknown): string =>
	typeof item === "object" && item !== null && "msg" in item ? String(item.msg) : String(item);

/** An upstream's sentence as a caller may see it. */
export const sentenceFor = (target: Target, text: string): string => shorten(withoutSecrets(target, text));

const shorten = (text: string): string =>
	text.length <= MAX_MESSAGE_CHARS ? text : `${text.slice(0, MAX_MESSAGE_CHARS)}…`;

const NUMBER = /^\d+(\.\d+)?$/;
/** The longest wait that is passed on. Whoever is told to come back later than that asks somebody else. */
const MAX_RETRY_AFTER_SECONDS = 24 * 60 * 60;

function retryAfterSeconds(headers: Headers, now: number): number | undefined {
	const seconds = waitSeconds(headers, now);
	return seconds === undefined ? undefined : Math.min(Math.ceil(seconds), MAX_RETRY_AFTER_SECONDS);
}

/** `retry-after-ms` (Azure, OpenAI), or `Retry-After` in seconds or as a date. */
function waitSeconds(headers: Headers, now: number): number | undefined {
	const ms = headers.get("retry-after-ms")?.trim();
	if (ms && NUMBER.test(ms)) return Number(ms) / 1000;
	const header = headers.get("retry-after")?.trim() ?? "";
	if (NUMBER.test(header)) return Number(header);
	// `Date.parse` takes "-5" for a date.
	const date = header.endsWith(" GMT") ? Date.parse(header) : Number.NaN;
	return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000);
}

/** Header values shorter than this are switches and versions, not credentials. */
const MIN_HEADER_SECRET_CHARS = 8;

export function withoutSecrets(target: Target, text: string): string {
	const headers = Object.values(target.headers).filter((value) => value.length >= MIN_HEADER_SECRET_CHARS);
	// Longest first: one secret may hold another (`Bearer KEY` and `KEY`).
	const secrets = [...headers, ...(target.key ? [target.key] : [])].sort((a, b) => b.length - a.length);
	return secrets.reduce((clean, secret) => clean.replaceAll(secret, "[redacted]"), text);
}

/** A cause that can be logged: the runtime's errors may quote a request. */
function safeCause(target: Target, error: unknown): Error | undefined {
	if (error === undefined) return undefined;
	return new Error(shorten(withoutSecrets(target, String(error))));
}
