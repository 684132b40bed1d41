/**
 * Reads the errors of upstreams, in the forms that hosts send them: `{error: {message, type, code}}` (OpenAI, llama.cpp, SGLang, newer
 * vLLM), `{message, type, code}` with `object: "error"` (older vLLM), `{error: "…"}` (LM Studio, TEI, Ollama), `{detail: "…"}` and
 * `{detail: [{msg}]}` (FastAPI), `[{error: …}]` and `{error: {status, details}}` (Google), `{errors: […]}` (Cloudflare),
 * `{base_resp: {status_code, status_msg}}` (MiniMax), `{type: "error", error}` (Anthropic), `{error: {metadata: {raw}}}` around the
 * provider's own error (OpenRouter), JSON inside the message (LiteLLM), plain text, and the events of a stream.
 */
import { isRecord, parseJson } from "../../core/json.ts";
import type { SentError } from "./sent-error.ts";

/** Errors are nested this deep at most: a router's around a provider's around an engine's. */
const MAX_DEPTH = 6;

/** The error body in the text of a reply with an error status. `undefined`: it has no text for a reader, such as a page of HTML. */
export function errorBodyOf(text: string): unknown {
	const trimmed = text.replace(/^\uFEFF/, "").trim();
	const parsed = parseJson(trimmed);
	if (parsed !== undefined) return parsed;
	const data = /^(?:event:.*\r?\n)?data: ?(.*)$/m.exec(trimmed)?.[1];
	if (data !== undefined) return parseJson(data) ?? data;
	return trimmed === "" || trimmed.startsWith("<") ? undefined : trimmed;
}

/** Whether the body of an answer with a good status, or an event, is an error. */
export function isErrorBody(value: unknown): boolean {
	if (Array.isArray(value)) return value.length > 0 && isErrorBody(value[0]);
	if (!isRecord(value)) return false;
	const { object, type, error, base_resp, choices, fault } = value;
	if (object === "error" || type === "error" || isFilled(error) || isRecord(fault)) return true;
	if (isRecord(base_resp) && Number(base_resp.status_code ?? 0) !== 0) return true;
	if (isFilled(choices)) return false;
	const { errors, detail, success, status, code } = value;
	if (!Array.isArray(choices) && (isFilled(errors) || isFilled(detail))) return true;
	if (statusIn(value) !== undefined) return true;
	for (const name of OWN_CODES) if (value[name] !== undefined && isErrorCode(value[name])) return true;
	for (const name of SENTENCES)
		if (typeof value[name] === "string")
			return success === false || status === "error" || isErrorCode(code) || isErrorType(type);
	return false;
}

/** Fields with the sentence of an error, the most usual first. */
const SENTENCES = [
	"message",
	"msg",
	"detail",
	"error_message",
	"errorMessage",
	"error_msg",
	"errorMsg",
	"status_msg",
];
/** Fields with a code that only errors have. */
const OWN_CODES = ["error_code", "errorCode", "errorcode"];
/** Fields with an HTTP status. `status` may also be that of a job. */
const STATUSES = ["statusCode", "status_code", "http_status", "httpStatus", "status"];

/** The HTTP status of an error in its own fields. */
function statusIn(body: Record<string, unknown>): number | undefined {
	for (const name of STATUSES) {
		const value = body[name];
		const isNumber = typeof value === "number" || (typeof value === "string" && value.trim() !== "");
		const status = isNumber ? Number(value) : 0;
		if (Number.isInteger(status) && status >= 400 && status <= 599) return status;
	}
	return undefined;
}

/** Some hosts put the code of a success into every event. */
const isErrorCode = (code: unknown): boolean =>
	isFilled(code) && !/^(?:0|2\d\d|ok|success)$/i.test(String(code));

const isErrorType = (type: unknown): boolean => typeof type === "string" && /error|exception/i.test(type);

const isFilled = (value: unknown): boolean =>
	value !== undefined &&
	value !== null &&
	value !== "" &&
	value !== false &&
	value !== 0 &&
	!(Array.isArray(value) && value.length === 0);

/** The innermost error, with the codes of those around it where it has none. */
export function readError(body: unknown, depth = 0): SentError {
	if (depth > MAX_DEPTH) return {};
	if (typeof body === "string") return readText(body, depth);
	if (Array.isArray(body)) return readError(body[0], depth + 1);
	if (!isRecord(body)) return {};
	const own = ownError(body);
	const inner = innerOf(body);
	const nested = inner === undefined ? {} : readError(inner, depth + 1);
	const text = own.message === undefined ? {} : readText(own.message, depth);
	return {
		message: nested.message ?? text.message,
		code: nested.code ?? text.code ?? own.code,
		type: nested.type ?? text.type ?? own.type,
		param: nested.param ?? text.param ?? own.param,
		status: nested.status ?? text.status ?? own.status,
		retryAfter: nested.retryAfter ?? text.retryAfter ?? own.retryAfter,
	};
}

/** The error inside an object, if there is one. */
function innerOf({ error, errors, base_resp, metadata, fault }: Record<string, unknown>): unknown {
	if (isFilled(error)) return error;
	if (Array.isArray(errors) && errors.length > 0) return errors[0];
	if (isRecord(base_resp)) return { code: base_resp.status_code, message: base_resp.status_msg };
	if (isRecord(metadata) && isFilled(metadata.raw)) return metadata.raw;
	if (!isRecord(fault)) return undefined;
	const { faultstring, faultcode, detail, ...others } = fault;
	const code = isRecord(detail) ? detail.errorcode : undefined;
	return { message: faultstring, code: code ?? faultcode, ...others };
}

function ownError(body: Record<string, unknown>): SentError {
	const { code, type, error_type, status, param, reason } = body;
	const sentence = SENTENCES.map((name) => body[name]).find(isFilled);
	const ownCode = [code, ...OWN_CODES.map((name) => body[name])].find(isFilled);
	const retryAfter = retryAfterIn(body);
	return {
		message: sentenceOf(sentence),
		code: textOf(ownCode),
		type: textOf([type, error_type, status, reason].find((value) => isFilled(value) && value !== "error")),
		param: textOf(isFilled(param) && param !== "None" ? param : undefined),
		status: statusIn(body),
		...(retryAfter !== undefined && { retryAfter }),
	};
}

/** JSON in a text: after the name of an exception, or alone. */
function readText(text: string, depth: number): SentError {
	const start = text.search(/[{[]\s*["'{]/);
	const nested = start < 0 ? undefined : parseJson(text.slice(start, text.search(/[}\]][^}\]]*$/) + 1));
	const inner = isErrorBody(nested) ? readError(nested, depth + 1) : {};
	const retryAfter = inner.retryAfter ?? secondsIn(text);
	return {
		...inner,
		message: inner.message ?? text,
		...(retryAfter !== undefined && { retryAfter }),
	};
}

function sentenceOf(value: unknown): string | undefined {
	if (Array.isArray(value)) return value.map(detailMessage).join("; ");
	return textOf(isRecord(value) ? (value.msg ?? value.message ?? value.error) : value);
}

const textOf = (value: unknown): string | undefined =>
	typeof value === "string" ? value : typeof value === "number" ? String(value) : undefined;

function detailMessage(item: unknown): string {
	if (!isRecord(item)) return String(item);
	const { msg, message, error } = item;
	return textOf(msg) ?? textOf(message) ?? textOf(error) ?? JSON.stringify(item);
}

/** Seconds: Google's `RetryInfo`, or a field of the error. */
function retryAfterIn({
	details,
	retry_after,
	retryAfter,
	retry_after_ms,
}: Record<string, unknown>): number | undefined {
	const info: unknown = Array.isArray(details)
		? details.find((item) => isRecord(item) && "retryDelay" in item)
		: undefined;
	if (isRecord(info)) return secondsOf(info.retryDelay);
	if (typeof retry_after_ms === "number") return retry_after_ms / 1000;
	return secondsOf(retry_after) ?? secondsOf(retryAfter);
}

function secondsOf(value: unknown): number | undefined {
	const seconds = typeof value === "string" ? Number(value.replace(/s$/, "")) : value;
	return typeof seconds === "number" && seconds >= 0 && Number.isFinite(seconds) ? seconds : undefined;
}

/** By the beginning of the unit's name. */
const SECONDS_OF_UNIT = [
	["milli", 0.001],
	["ms", 0.001],
	["s", 1],
	["m", 60],
	["h", 3600],
] as const;

const WAIT = /(?:try again|retry)(?: again)? (?:in|after) ((?:\d+(?:\.\d+)? ?(?:ms|milli|s|m|h)[a-z]* ?)+)/i;

/** OpenAI, Groq: "Please try again in 1m26.4s", "in 20s", "in 120ms", "in 20 seconds". */
function secondsIn(text: string): number | undefined {
	const time = WAIT.exec(text)?.[1];
	if (time === undefined) return undefined;
	let seconds = 0;
	for (const [, number, name = ""] of time.matchAll(/(\d+(?:\.\d+)?) ?([a-z]+)/gi)) {
		const unit = SECONDS_OF_UNIT.find(([beginning]) => name.toLowerCase().startsWith(beginning));
		seconds += Number(number) * (unit?.[1] ?? 0);
	}
	return seconds;
}
