/** A request's body, whole and bounded, as the inputs of a call. Everything wrong with it is the caller's to mend. */
import { AiError } from "../core/errors.ts";
import { concat } from "../media/bytes.ts";
import type { SizeLimits } from "../pipeline/limits.ts";
import type { Inputs } from "../pipeline/request.ts";
import { boundJson, tooDeep } from "./json-scan.ts";

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/i;
/** What curl and some clients say when nobody told them what they send. */
const UNSAID_TYPE = /^(?:$|text\/plain|application\/x-www-form-urlencoded|application\/octet-stream)/i;
const OPENING_BRACE = 0x7b;
/** White space, and the bytes of a byte order mark. */
const BEFORE_JSON = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

/** Up to this size, reading and validating a body costs about as much as a call of the account's object. */
const SMALL_BODY_BYTES = 16 * 1024;

/** Whether the body, if any, is JSON of a known and small size. Files and forms of any size are expensive to parse. */
export function isSmallJson(request: Request): boolean {
	const { headers } = request;
	const length = headers.get("content-length");
	if (length === null || headers.has("content-encoding")) return request.body === null;
	return Number(length) <= SMALL_BODY_BYTES && JSON_TYPE.test(headers.get("content-type")?.trim() ?? "");
}

/** A JSON body gives fields; any other stays bytes, for the dialect to know what they are. */
export async function readInputs(request: Request, limits: SizeLimits): Promise<Inputs> {
	const contentType = request.headers.get("content-type")?.trim() ?? "";
	if (JSON_TYPE.test(contentType))
		return { fields: parseJson(await readBody(request, limits.jsonBytes, limits.bodyMs), limits) };
	const bytes = await readBody(request, limits.uploadBytes, limits.bodyMs);
	if (UNSAID_TYPE.test(contentType) && looksLikeJson(bytes)) {
		if (bytes.length > limits.jsonBytes) throw tooLarge(limits.jsonBytes);
		return { fields: parseJson(bytes, limits) };
	}
	return { fields: {}, body: { bytes, contentType } };
}

/** A body that has to be JSON, whatever its content type says. */
export async function readJson(request: Request, limits: SizeLimits): Promise<unknown> {
	return parseJson(await readBody(request, limits.jsonBytes, limits.bodyMs), limits);
}

/** 3007 where the body has not arrived within `milliseconds`. */
export async function readBody(
	request: Request,
	limit: number,
	milliseconds: number,
): Promise<Uint8Array<ArrayBuffer>> {
	const bytes = await within(milliseconds, (signal) => readBytes(request, limit, signal));
	if (bytes.length > limit) throw tooLarge(limit);
	if (bytes.length === 0) throw new AiError("incompleteRequest", "Request is missing headers or body: body");
	return bytes;
}

async function readBytes(
	request: Request,
	limit: number,
	signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
	const { body } = request;
	if (!body) return new Uint8Array();
	const encoding = encodingOf(request);
	const stated = statedLength(request);
	const bytes =
		stated <= limit
			? await readStated(body, { stated, limit, signal })
			: await readWhole(body, { limit, signal });
	return encoding === undefined ? bytes : decompress(bytes, encoding, limit);
}

/** The signal is aborted when the time is over: it cancels the read that is pending. */
async function within<T>(milliseconds: number, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
	const late = Promise.withResolvers<never>();
	const control = new AbortController();
	const timer = setTimeout(() => {
		const error = new AiError(
			"timeout",
			`Request timeout: the request body did not arrive within ${milliseconds} ms`,
		);
		control.abort(error);
		late.reject(error);
	}, milliseconds);
	try {
		return await Promise.race([read(control.signal), late.promise]);
	} finally {
		clearTimeout(timer);
	}
}

/** Bytes of the body by its `content-length`; infinite where that is missing. */
function statedLength({ headers }: Request): number {
	const length = headers.get("content-length");
	return length !== null && /^\d+$/.test(length) ? Number(length) : Number.POSITIVE_INFINITY;
}

/** Reads a body of a stated length with one call of the runtime, which costs a sixth of reading it chunk by chunk. */
async function readStated(
	body: ReadableStream<Uint8Array>,
	{ stated, limit, signal }: { stated: number; limit: number; signal: AbortSignal },
): Promise<Uint8Array<ArrayBuffer>> {
	const reader = body.getReader({ mode: "byob" });
	const stop = cancelOnAbort(reader, signal);
	try {
		// One byte more than stated: the end of the body ends the read.
		const { value } = await reader.readAtLeast(stated + 1, new Uint8Array(stated + 1));
		if (value === undefined || value.length <= stated) return value ?? new Uint8Array();
		reader.releaseLock();
		return await readWhole(body, { limit, signal, first: value });
	} finally {
		stop();
	}
}

/** Returns the function that removes the listener. */
function cancelOnAbort(
	reader: { cancel(reason: unknown): Promise<void> },
	signal: AbortSignal | undefined,
): () => void {
	const cancel = (): void => void reader.cancel(signal?.reason).catch(() => {});
	signal?.addEventListener("abort", cancel);
	return () => signal?.removeEventListener("abort", cancel);
}

function encodingOf({ headers }: Request): "gzip" | "deflate" | undefined {
	const encoding = headers.get("content-encoding")?.trim().toLowerCase() || "identity";
	if (encoding === "identity") return undefined;
	if (encoding === "gzip" || encoding === "deflate") return encoding;
	throw new AiError("badInput", "Error: of content encodings, gzip and deflate are taken");
}

/**
 * The limit holds for what comes out, too. A body is decompressed after it has arrived: a read of the network behind the
 * runtime's `DecompressionStream` cannot be cancelled.
 */
const decompress = (
	bytes: Uint8Array<ArrayBuffer>,
	encoding: "gzip" | "deflate",
	limit: number,
): Promise<Uint8Array<ArrayBuffer>> =>
	readWhole(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(encoding)), { limit });

/**
 * A client that is answered before it has sent everything often sees a broken connection instead of the answer; so
 * this many times the limit is read and dropped first.
 */
const DROPPED_TIMES_LIMIT = 4;

/**
 * Reads a stream to its end. Throws 3006 beyond `limit` bytes. The stream is cancelled when the signal is aborted, and
 * when it is several times too long. `first`: bytes of it that were read before.
 */
export async function readWhole(
	stream: ReadableStream<Uint8Array>,
	{ limit, signal, first = new Uint8Array() }: { limit: number; signal?: AbortSignal; first?: Uint8Array },
): Promise<Uint8Array<ArrayBuffer>> {
	const chunks = [first];
	let { length } = first;
	const reader = stream.getReader();
	const stop = cancelOnAbort(reader, signal);
	try {
		while (length <= limit * DROPPED_TIMES_LIMIT) {
			const { value, done } = await reader.read();
			if (done) break;
			length += value.length;
			if (length <= limit) chunks.push(value);
			else chunks.length = 0;
		}
		if (length > limit * DROPPED_TIMES_LIMIT) void reader.cancel().catch(() => {});
	} catch (error) {
		if (error instanceof TypeError)
			throw new AiError("badInput", "Error: the request body cannot be decoded");
		throw error;
	} finally {
		stop();
	}
	if (length > limit) throw tooLarge(limit);
	return concat(chunks);
}

const STRICT_UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

export function parseJson(bytes: Uint8Array, { jsonDepth }: Pick<SizeLimits, "jsonDepth">): unknown {
	boundJson(bytes, jsonDepth);
	let text: string;
	try {
		text = STRICT_UTF8.decode(bytes);
	} catch {
		throw new AiError("badInput", "Error: the request body is not valid UTF-8");
	}
	return parseText(text, "the request body");
}

/** The parser's own message quotes the body; ours only says where the fault is. */
export function parseText(text: string, what: string): unknown {
	try {
		return JSON.parse(text);
	} catch (error) {
		const place = /position \d+(?: \(line \d+ column \d+\))?/.exec(String(error))?.[0];
		throw new AiError("badInput", `Error: ${what} is not valid JSON${place ? `, at ${place}` : ""}`);
	}
}

/**
 * Code behind this recurses over what the caller nested; a bound here keeps every stack safe. What crossed RPC may also
 * hold what JSON has no word for, or itself: refused too.
 */
export function boundDepth(value: unknown, limit: number): unknown {
	let level = new Set(containersIn([value]));
	for (let depth = 1; level.size > 0; depth++) {
		if (depth > limit) throw tooDeep(limit);
		const next = new Set<object>();
		for (const container of level)
			for (const inner of containersIn(Object.values(container))) next.add(inner);
		level = next;
	}
	return value;
}

/** Arrays and objects among values. Bytes are values: some inputs are. */
function* containersIn(values: readonly unknown[]): Iterable<object> {
	for (const value of values) {
		const kind = typeof value;
		if (kind === "object" && value !== null) {
			if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) continue;
			const prototype: unknown = Object.getPrototypeOf(value);
			if (prototype !== Object.prototype && prototype !== null && !Array.isArray(value))
				throw notJson("object");
			yield value as object;
		} else if (kind === "bigint" || kind === "function" || kind === "symbol") throw notJson(kind);
	}
}

const notJson = (kind: string): AiError =>
	new AiError(
		"badInput",
		`Error: only values that JSON knows are taken, and a ${kind} among the inputs is none`,
	);

function looksLikeJson(bytes: Uint8Array): boolean {
	return bytes.find((byte) => !BEFORE_JSON.has(byte)) === OPENING_BRACE;
}

const tooLarge = (limit: number): AiError =>
	new AiError("requestTooLarge", `Request is too large: more than ${limit} bytes`);
