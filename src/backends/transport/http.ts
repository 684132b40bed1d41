/**
 * Sends one request to one target and reads the reply, with limits on time and size. Every
 * failure is an `AiError` (`upstream-failure.ts` has the table). Redirects are refused: the credentials and the prompt
 * are only for the configured host.
 */
import type { z } from "zod";
import type { AiError } from "../../core/errors.ts";
import { parseJson } from "../../core/json.ts";
import type { Media } from "../../media/media.ts";
import { decodeUtf8 } from "../../media/utf8.ts";
import { callOut } from "../../outbound/call-out.ts";
import type { Deadline } from "../../outbound/deadline.ts";
import { REPLY } from "../../outbound/limits.ts";
import type { OutgoingHeaders } from "../../outbound/passed-headers.ts";
import { safeParse } from "../../schemas/safe-parse.ts";
import { shortRead } from "../../schemas/short-read.ts";
import type { EventFormat } from "../../streams/event-splitter.ts";
import type { Target } from "../backend.ts";
import { type BodyBeginning, readBeginning } from "./body-beginning.ts";
import { type ChunkOptions, relayChunks } from "./chunk-stream.ts";
import { startDeadline } from "./deadline.ts";
import { isErrorBody } from "./error-body.ts";
import type { RelayedStream, UpstreamStream } from "./event-scanner.ts";
import { isShort, mediaType, readShort, readUpTo } from "./reply-body.ts";
import {
	type Call,
	failureOfBody,
	failureOfContent,
	failureOfFetch,
	failureOfShape,
	failureOfSize,
	failureOfStatus,
} from "./upstream-failure.ts";

/** A value that is sent as JSON, a form, or a file with its media type. */
export type RequestBody = FormData | Blob | Record<string, unknown>;

export interface RequestOptions {
	/** Headers of this request. They override the target's. Not for secrets: those belong to the target. */
	headers?: Record<string, string>;
	/** Replaces `parseJson`. `undefined`: the text is not JSON. */
	parse?: (text: string) => unknown;
}

/** Reads a text that the schema does not accept, such as the events of a stream that was not requested. `undefined`: it cannot. */
type ReadOther<Other> = (text: string) => Other | undefined;

/** Requests JSON. `schema` has the fields that the caller reads. */
export function postJson<Schema extends z.ZodType, Other = never>(
	call: Call,
	path: string,
	body: RequestBody,
	schema: Schema,
	options: RequestOptions & { readOther?: ReadOther<Other> } = {},
): Promise<z.output<Schema> | Other> {
	const request = { path, body, accept: "application/json", headers: options.headers };
	return exchange(call, request, (reply) => readValue(reply, schema, options));
}

/** Requests JSON with GET, such as an upstream's metadata. */
export const getJson = <Schema extends z.ZodType>(
	call: Call,
	path: string,
	schema: Schema,
): Promise<z.output<Schema>> =>
	exchange(call, { path, accept: "application/json" }, (reply) => readValue(reply, schema, {}));

/** Requests a file. */
export function postBytes(
	call: Call,
	path: string,
	body: RequestBody,
	{ headers }: RequestOptions = {},
): Promise<Media> {
	return exchange(call, { path, body, accept: "*/*", headers }, readFile);
}

/** Requests a file with GET, from an address in an upstream's reply. */
export function getBytes(call: Call, path: string): Promise<Media> {
	return exchange(call, { path, accept: "*/*" }, readFile);
}

/** JSON or a page, whatever its label is. The samples of raw sound may begin with a brace. */
const TEXT_BEGINNING = /^\s*(?:\{|<!doctype|<html)/i;

async function readFile(reply: OpenReply): Promise<Media> {
	const { call, response } = reply;
	const bytes = await readBytes(reply);
	const isJson = mediaType(response) === "application/json";
	if (isJson || TEXT_BEGINNING.test(decodeUtf8(bytes.subarray(0, 16)))) {
		const text = decodeUtf8(bytes);
		const value = parseJson(text);
		if (isErrorBody(value)) throw failureOfBody(call, value);
		if (isJson || value !== undefined || !text.trimStart().startsWith("{"))
			throw failureOfShape(call, "a file", text);
	}
	// An engine answers so to a text without words.
	if (bytes.length === 0) throw failureOfContent(call, "answered with an empty file");
	const contentType = response.headers.get("content-type");
	return contentType === null ? { bytes } : { bytes, contentType };
}

export type StreamReply<Value> =
	/** Ends after `data: [DONE]`, or errors with an `AiError`. For `ended`, see `Answer`. */
	| ({ kind: "stream" } & RelayedStream)
	/** The upstream sent a complete answer, although a stream was requested. */
	| { kind: "value"; value: Value };

/**
 * Requests an event stream of `choices` answers, and waits for its first event. The reader owns the stream. Cancelling it
 * aborts the upstream's fetch, and so does the caller's signal.
 */
export function postStream<Schema extends z.ZodType>(
	call: Call,
	path: string,
	body: RequestBody,
	{ schema, headers, parse, ...options }: RequestOptions & ChunkOptions & { schema: Schema },
): Promise<StreamReply<z.output<Schema>>> {
	return postForStream(call, {
		path,
		body,
		accept: "text/event-stream, application/json",
		headers,
		...(parse && { parse }),
		types: ["text/event-stream"],
		schema,
		relay: (stream, format) => relayChunks(stream, { ...options, format }),
	});
}

interface StreamRequest<Schema, Other> extends UpstreamRequest {
	/** Media types of a stream. The beginning of a reply of another type shows whether it is one. */
	types: readonly (string | undefined)[];
	/** The format of the upstream's streams. `sse` when absent. */
	format?: EventFormat;
	schema: Schema;
	readOther?: ReadOther<Other>;
	/** Takes over the stream. `format`: that of a stream with another media type. */
	relay(stream: UpstreamStream, format?: EventFormat): Promise<RelayedStream>;
}

/** Requests a stream of any format. */
export async function postForStream<Schema extends z.ZodType, Other = never>(
	call: Call,
	{ types, format: usual, schema, relay, parse, readOther, ...request }: StreamRequest<Schema, Other>,
): Promise<StreamReply<z.output<Schema> | Other>> {
	const deadline = startDeadline(call, "stream");
	const reply = await within(deadline, send(call, { ...request, streams: true }, deadline));
	const { response } = reply;
	if (types.includes(mediaType(response)) && response.body)
		return { kind: "stream", ...(await relay({ call, source: response.body, deadline })) };
	const { body, format } = await within(deadline, beginningOf(reply, usual));
	if (format && body) return { kind: "stream", ...(await relay({ call, source: body, deadline }, format)) };
	const unread = { ...reply, response: new Response(body, response) };
	return { kind: "value", value: await within(deadline, readValue(unread, schema, { parse, readOther })) };
}

/** Reads the first characters of a body, and returns the complete body. `format`: it is a stream. */
async function beginningOf(
	{ call, response, deadline }: OpenReply,
	usual: EventFormat | undefined,
): Promise<BodyBeginning> {
	deadline.expect(call.target.timeouts.idleMs);
	const read = await readBeginning(response, call, usual);
	deadline.pause();
	return read;
}

interface UpstreamRequest extends RequestOptions {
	path: string;
	/** Absent: a GET. */
	body?: RequestBody;
	accept: string;
	/** The upstream sends the header before it generates the answer. */
	streams?: true;
}

/** A reply whose body has not been read. Reading it closes the deadline. */
interface OpenReply {
	call: Call;
	path: string;
	response: Response;
	deadline: Deadline;
}

/** The headers of requests to a target that have none of their own, by what they accept. They are made once for many requests. */
const targetHeaders = new WeakMap<Target, Map<string, Headers>>();

/** `content`: the body is JSON. The runtime sets the content type of a form and of a file. */
function headersFor(
	target: Target,
	{ accept, headers }: UpstreamRequest,
	content: "json" | "other",
): OutgoingHeaders {
	// All names are in lower case, so that no header is sent twice.
	const all = (): Record<string, string> => ({
		...target.headers,
		...headers,
		accept,
		...(target.key !== undefined && { authorization: `Bearer ${target.key}` }),
		...(content === "json" && { "content-type": "application/json" }),
	});
	if (headers) return all();
	const known = targetHeaders.get(target) ?? new Map<string, Headers>();
	targetHeaders.set(target, known);
	const key = `${content} ${accept}`;
	const made = known.get(key) ?? new Headers(all());
	known.set(key, made);
	return made;
}

/** Sends the request. Throws what the runtime throws, and the failure of a status that is not 2xx. */
async function send(call: Call, request: UpstreamRequest, deadline: Deadline): Promise<OpenReply> {
	const { target, services } = call;
	const { path, body } = request;
	const isRaw = body instanceof FormData || body instanceof Blob;
	deadline.signal.throwIfAborted();
	// The runtime's fetch refuses another `this`.
	const { fetch } = services;
	let response: Response;
	try {
		response = await callOut({
			fetch,
			url: target.url + path,
			method: body ? "POST" : "GET",
			headers: headersFor(target, request, body && !isRaw ? "json" : "other"),
			sendsTrace: !call.withoutTrace,
			body: isRaw ? body : body && JSON.stringify(body),
			signal: deadline.signal,
		});
	} catch (error) {
		throw failureOfFetch(call, error);
	}
	const reply = { call, path, response, deadline };
	if (!response.ok) throw await failureOfResponse(reply, request.streams ?? false);
	return reply;
}

/** Sends the request and reads the reply, under one deadline. */
function exchange<T>(
	call: Call,
	request: UpstreamRequest,
	read: (reply: OpenReply) => Promise<T>,
): Promise<T> {
	const deadline = startDeadline(call, "complete");
	return within(deadline, send(call, request, deadline).then(read));
}

/** Settles as the work does, or rejects with the failure that ends the call earlier. Every failure closes the deadline. */
function within<T>(deadline: Deadline, work: Promise<T>): Promise<T> {
	return deadline.race(work).catch((error: unknown) => {
		deadline.close();
		throw deadline.signal.aborted ? deadline.signal.reason : error;
	});
}

async function failureOfResponse(
	{ call, response, deadline }: OpenReply,
	streams: boolean,
): Promise<AiError> {
	// A failure to read this body is ignored, unless the deadline or the caller ended the call.
	const { bytes } = await readUpTo(REPLY.errorBytes, { call, response, deadline }).catch((error: unknown) => {
		if (deadline.signal.aborted) throw error;
		return { bytes: new Uint8Array() };
	});
	const { status, headers } = response;
	return failureOfStatus(call, { status, headers, text: decodeUtf8(bytes), streams });
}

async function readValue<Schema extends z.ZodType, Other>(
	reply: OpenReply,
	schema: Schema,
	{ parse = parseJson, readOther }: Pick<RequestOptions, "parse"> & { readOther?: ReadOther<Other> },
): Promise<z.output<Schema> | Other> {
	const { call, path } = reply;
	const text = await readText(reply);
	const value = parse(text);
	const read = shortRead(schema, value);
	if (read !== undefined) return read;
	const parsed = safeParse(schema, value);
	if (parsed.success) return parsed.data;
	// Some servers send errors with status 200 (LM Studio, for an unknown route).
	if (isErrorBody(value)) throw failureOfBody(call, value);
	const other = readOther?.(text);
	if (other !== undefined) return other;
	throw failureOfShape(call, `a reply of ${path}`, text);
}

function readText(reply: OpenReply): Promise<string> {
	const { response } = reply;
	if (isShort(response, REPLY.valueBytes)) return readShort(reply, () => response.text());
	return readBytes(reply).then((bytes) => decodeUtf8(bytes));
}

async function readBytes({ call, response, deadline }: OpenReply): Promise<Uint8Array<ArrayBuffer>> {
	const { bytes, truncated } = await readUpTo(REPLY.valueBytes, { call, response, deadline });
	if (truncated) throw failureOfSize(call, "a reply", REPLY.valueBytes);
	return bytes;
}
