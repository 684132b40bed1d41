/**
 * Reads a request's body up to a limit and parses it. Every invalid body is an error of the caller: 3006, 3007 or 5006.
 *
 * The bytes of large bodies count as buffered until the request has its answer or its caller has left. Before its token is verified the
 * account of a request is not known, and its body is small: it is not counted.
 */
import { AiError } from "../core/errors.ts";
import type { StartTimer } from "../core/lazy-timer.ts";
import { BufferHold } from "../core/process-counts.ts";
import { badInput } from "../dialects/invalid-input.ts";
import { concat, release } from "../media/bytes.ts";
import { decodeStrictUtf8 } from "../media/utf8.ts";
import type { SizeLimits } from "../pipeline/limits.ts";
import type { Inputs } from "../pipeline/request.ts";
import { decompress, encodingOf, tooLarge, undecodable } from "./decompress.ts";
import { boundJson } from "./json-scan.ts";

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/i;
/** No content type, or one that curl and other clients send by default. The body may be JSON. */
const DEFAULT_TYPE = /^(?:$|text\/plain|application\/x-www-form-urlencoded|application\/octet-stream)/i;
const OPENING_BRACE = 0x7b;
/** Bytes that may precede JSON: white space, and a byte order mark. */
const BEFORE_JSON = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);
/** A body that begins with more of them is read as JSON only if its content type is JSON. */
const MAX_BYTES_BEFORE_JSON = 4_096;

/** Up to this size, reading and validating a body costs about as much as a call of the account's object. */
const SMALL_BODY_BYTES = 16 * 1024;
/** Such a body is read before its token is verified, so its time is short. */
export const SMALL_BODY_MS = 10_000;

export interface BodyServices {
	limits: SizeLimits;
	startTimer: StartTimer;
}

const holds = new WeakMap<Request, BufferHold>();

/** The body of the request counts for the account. */
export const countBody = (request: Request, account: string): void =>
	void holds.set(request, new BufferHold(account).releaseOn(request.signal));

/** The request has its answer. */
export const releaseBody = (request: Request): void => holds.get(request)?.release();

/** Whether the body, if any, is JSON of a known and small size. Files and forms of any size are expensive to parse. */
export function isSmallJson(request: Request): boolean {
	const { headers } = request;
	const length = headers.get("content-length");
	if (length === null || headers.has("content-encoding")) return request.body === null;
	return Number(length) <= SMALL_BODY_BYTES && JSON_TYPE.test(contentTypeOf(request));
}

/** A JSON body becomes `fields`. Any other stays bytes, which the dialect interprets. */
export async function readInputs(request: Request, services: BodyServices): Promise<Inputs> {
	if (JSON_TYPE.test(contentTypeOf(request))) return { fields: await readJson(request, services) };
	return (await readRawInputs(request, services)).inputs;
}

const contentTypeOf = ({ headers }: Request): string => headers.get("content-type")?.trim() ?? "";

/** The inputs, and the decompressed bytes of the body. */
export async function readRawInputs(
	request: Request,
	services: BodyServices,
): Promise<{ inputs: Inputs; bytes: Uint8Array<ArrayBuffer> }> {
	const contentType = contentTypeOf(request);
	const { limits } = services;
	const limit = JSON_TYPE.test(contentType) ? limits.jsonBytes : limits.uploadBytes;
	const bytes = await readBody(request, limit, services);
	return { bytes, inputs: inputsOf(bytes, contentType, limits) };
}

function inputsOf(bytes: Uint8Array<ArrayBuffer>, contentType: string, limits: SizeLimits): Inputs {
	if (JSON_TYPE.test(contentType)) return { fields: parseJson(bytes, limits) };
	if (DEFAULT_TYPE.test(contentType) && startsWithBrace(bytes)) {
		if (bytes.length > limits.jsonBytes) throw tooLarge(limits.jsonBytes);
		return { fields: parseJson(bytes, limits) };
	}
	return { fields: {}, body: { bytes, contentType } };
}

/** Parses the body as JSON. Its content type is ignored. */
export async function readJson(request: Request, services: BodyServices): Promise<unknown> {
	const { limits } = services;
	const stated = statedLength(request);
	if (stated > Math.min(SMALL_BODY_BYTES, limits.jsonBytes) || request.headers.has("content-encoding")) {
		const bytes = await readBody(request, limits.jsonBytes, services);
		try {
			return parseJson(bytes, limits);
		} finally {
			release(bytes);
		}
	}
	return parseJsonText(await readText(request, stated, services), limits);
}

/**
 * Reads a small body as a text, which costs the runtime a third of reading its bytes. The read cannot be cancelled: it ends with
 * the request's context.
 *
 * The runtime replaces invalid UTF-8 by U+FFFD, which is longer than the replaced bytes. The exception is a character of four bytes
 * without the last one, which is accepted.
 */
async function readText(request: Request, stated: number, services: BodyServices): Promise<string> {
	const { bodyMs, jsonBytes } = services.limits;
	const text = await inTime(Math.min(bodyMs, SMALL_BODY_MS), services, {
		request,
		pending: {},
		read: request.text(),
	});
	if (text.length > jsonBytes) throw tooLarge(jsonBytes);
	if (text === "") throw emptyBody();
	if (text.includes("\ufffd") && new TextEncoder().encode(text).length > stated) throw invalidUtf8();
	return text;
}

const emptyBody = (): AiError => new AiError("incompleteRequest", "Request is missing headers or body: body");

const invalidUtf8 = (): AiError => badInput("the request body is not valid UTF-8");

/** Throws 3006 beyond `limit` bytes, and 3007 if the body has not arrived within `bodyMs`. */
export async function readBody(
	request: Request,
	limit: number,
	services: BodyServices,
): Promise<Uint8Array<ArrayBuffer>> {
	const pending: PendingRead = {};
	const read = readBytes(request, limit, pending);
	const bytes = await inTime(services.limits.bodyMs, services, { request, pending, read });
	if (bytes.length > limit) throw tooLarge(limit);
	if (bytes.length === 0) throw emptyBody();
	return bytes;
}

async function readBytes(
	request: Request,
	limit: number,
	pending: PendingRead,
): Promise<Uint8Array<ArrayBuffer>> {
	const { body } = request;
	if (!body) return new Uint8Array();
	const encoding = encodingOf(request);
	const stated = statedLength(request);
	const hold = holds.get(request);
	if (stated <= limit) hold?.grow(stated);
	const bytes =
		stated <= limit
			? await readStated(body, { stated, limit, pending })
			: await readStream(body, { limit, pending, hold });
	if (encoding === undefined) return bytes;
	const decompressed = decompress(bytes, encoding, limit);
	hold?.grow(decompressed.length);
	return decompressed;
}

/** The reader of a body, while it reads. */
interface PendingRead {
	reader?: { cancel(reason: unknown): Promise<void> };
}

/** Rejects after `limitMs`, and cancels the pending read. A read that fails by itself is a caller who has left. */
function inTime<T>(
	limitMs: number,
	{ startTimer }: BodyServices,
	{ request, pending, read }: { request: Request; pending: PendingRead; read: Promise<T> },
): Promise<T> {
	const { promise, resolve, reject } = Promise.withResolvers<T>();
	const onTime = (): void => {
		const error = new AiError(
			"timeout",
			`Request timeout: the request body did not arrive within ${limitMs} ms`,
		);
		pending.reader?.cancel(error).catch(() => {});
		reject(error);
	};
	const timer = startTimer(limitMs, onTime, request.signal);
	read.then(
		(value) => {
			timer.cancel();
			resolve(value);
		},
		(error: unknown) => {
			timer.cancel();
			reject(error instanceof AiError ? error : new AiError("aborted", undefined, { cause: error }));
		},
	);
	return promise;
}

/** Bytes of the body by its `content-length`; infinite if the header is missing or invalid. */
function statedLength({ headers }: Request): number {
	const length = headers.get("content-length");
	return length !== null && /^\d+$/.test(length) ? Number(length) : Number.POSITIVE_INFINITY;
}

/** Reads a body with a `content-length` in one call of the runtime. This costs a sixth of reading it chunk by chunk. */
async function readStated(
	body: ReadableStream<Uint8Array>,
	{ stated, limit, pending }: { stated: number; limit: number; pending: PendingRead },
): Promise<Uint8Array<ArrayBuffer>> {
	const reader = body.getReader({ mode: "byob" });
	pending.reader = reader;
	// One byte more than stated, so that the read ends with the body and detects a longer one.
	const { value } = await reader.readAtLeast(stated + 1, new Uint8Array(stated + 1));
	if (value === undefined || value.length <= stated) return value ?? new Uint8Array();
	reader.releaseLock();
	return readStream(body, { limit, pending, first: value });
}

/**
 * Many clients report a broken connection if the response arrives before they have sent the body. Therefore a body that
 * is too large is read up to this multiple of the limit, and dropped, before it is refused.
 */
const MAX_DRAINED_LIMITS = 4;
/** The same, for routes with a low limit. Their callers are verified before. */
const DRAINED_BYTES = 32 * 1024 * 1024;

/**
 * Reads a stream to its end. Throws 3006 beyond `limit` bytes, and cancels a stream that is much larger. `first`: bytes of the
 * stream that were already read.
 */
export async function readStream(
	stream: ReadableStream<Uint8Array>,
	{
		limit,
		pending = {},
		first = new Uint8Array(),
		hold,
	}: { limit: number; pending?: PendingRead; first?: Uint8Array; hold?: BufferHold | undefined },
): Promise<Uint8Array<ArrayBuffer>> {
	const chunks = [first];
	const drained = Math.max(limit * MAX_DRAINED_LIMITS, DRAINED_BYTES);
	let { length } = first;
	const reader = stream.getReader();
	pending.reader = reader;
	try {
		while (length <= drained) {
			const { value, done } = await reader.read();
			if (done) break;
			length += value.length;
			if (length <= limit) {
				hold?.grow(value.length);
				chunks.push(value);
			} else chunks.length = 0;
		}
		if (length > drained) void reader.cancel().catch(() => {});
	} catch (error) {
		if (error instanceof TypeError) throw undecodable();
		void reader.cancel().catch(() => {});
		throw error;
	}
	if (length > limit) throw tooLarge(limit);
	return concat(chunks);
}

export function parseJson(bytes: Uint8Array, limits: Pick<SizeLimits, "jsonDepth">): unknown {
	let text: string;
	try {
		text = decodeStrictUtf8(bytes);
	} catch {
		throw invalidUtf8();
	}
	return parseJsonText(text, limits);
}

function parseJsonText(text: string, { jsonDepth }: Pick<SizeLimits, "jsonDepth">): unknown {
	boundJson(text, jsonDepth);
	return parseText(text, "the request body");
}

/** The parser's message quotes the body. The error contains only the position. `source`: what the text is, for the message. */
export function parseText(text: string, source: string): unknown {
	try {
		return JSON.parse(text);
	} catch (error) {
		const position = /position \d+(?: \(line \d+ column \d+\))?/.exec(String(error))?.[0];
		throw badInput(`${source} is not valid JSON${position ? `, at ${position}` : ""}`);
	}
}

function startsWithBrace(bytes: Uint8Array): boolean {
	return bytes.subarray(0, MAX_BYTES_BEFORE_JSON).find((byte) => !BEFORE_JSON.has(byte)) === OPENING_BRACE;
}
