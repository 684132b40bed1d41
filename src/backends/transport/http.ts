/**
 * The only fetch of the gateway: one request to one target, its reply read with a bound on time and on bytes, and
 * whatever goes wrong as an `AiError` (`upstream-failure.ts` has the table). Redirects are refused: the credentials
 * and the prompt are meant for the configured host.
 */
import type { z } from "zod";
import type { AiError } from "../../core/errors.ts";
import type { Media } from "../../media/media.ts";
import type { StreamErrorFormatter } from "../../tasks/task.ts";
import { type Deadline, startDeadline } from "./deadline.ts";
import { watchEvents } from "./event-stream.ts";
import type { Relayed } from "./relay.ts";
import { isShort, readShort, readUpTo } from "./reply-body.ts";
import {
	type Call,
	failureOfBody,
	failureOfContent,
	failureOfFetch,
	failureOfShape,
	failureOfSize,
	failureOfStatus,
} from "./upstream-failure.ts";

/** Largest reply that is held in memory, beside what becomes of it: a file, or some thousand embeddings. */
const MAX_VALUE_BYTES = 24 * 1024 * 1024;
/** As much of an error as is read. */
const MAX_ERROR_BYTES = 64 * 1024;

/** What is sent: a value as JSON, a form, or a file of a type of its own. */
export type RequestBody = FormData | Blob | Record<string, unknown>;

export interface RequestOptions {
	/** Of this request alone, over the target's. Their values are no secrets: those are the target's. */
	headers?: Record<string, string>;
	/** Instead of `JSON.parse`. What it throws is text that is no JSON. */
	parse?: (text: string) => unknown;
}

/** Asks for JSON. `schema` names the fields that the caller reads. */
export async function postJson<Schema extends z.ZodType>(
	call: Call,
	path: string,
	body: RequestBody,
	schema: Schema,
	{ headers, parse }: RequestOptions = {},
): Promise<z.output<Schema>> {
	return readValue(await open(call, { path, body, accept: "application/json", headers }), schema, parse);
}

/** Asks for JSON by a GET: what an upstream says of itself. */
export async function getJson<Schema extends z.ZodType>(
	call: Call,
	path: string,
	schema: Schema,
	{ headers }: RequestOptions = {},
): Promise<z.output<Schema>> {
	return readValue(await open(call, { path, accept: "application/json", headers }), schema);
}

/** Asks for a file. */
export async function postBytes(
	call: Call,
	path: string,
	body: RequestBody,
	{ headers }: RequestOptions = {},
): Promise<Media> {
	return readFile(await open(call, { path, body, accept: "*/*", headers }));
}

/** Asks for a file by a GET: one that an upstream has told the place of. */
export async function getBytes(call: Call, path: string): Promise<Media> {
	return readFile(await open(call, { path, accept: "*/*" }));
}

async function readFile(exchange: Exchange): Promise<Media> {
	const { call, response } = exchange;
	const bytes = await readWhole(exchange);
	if (mediaType(response) === "application/json") {
		const value = parseJson(UTF8.decode(bytes));
		throw isError(value) ? failureOfBody(call, value) : failureOfShape(call, "a file");
	}
	// Speech of a text without words.
	if (bytes.length === 0) throw failureOfContent(call, "answered with an empty file");
	const contentType = response.headers.get("content-type") ?? undefined;
	return contentType === undefined ? { bytes } : { bytes, contentType };
}

export type StreamReply<Value> =
	/** Ends after `data: [DONE]`, or errors with an `AiError`. With `ended`: as `Answer` has it. */
	| ({ kind: "stream" } & Relayed)
	/** The upstream answered at once, although a stream was asked for. */
	| { kind: "value"; value: Value };

/**
 * Asks for an event stream of `choices` answers, and waits until it has begun. The stream belongs to whoever reads it;
 * cancelling it, and the caller's leaving, end the upstream's fetch.
 */
export async function postStream<Schema extends z.ZodType>(
	call: Call,
	path: string,
	body: RequestBody,
	{ schema, choices, headers, formatStreamError }: RequestOptions & StreamOptions<Schema>,
): Promise<StreamReply<z.output<Schema>>> {
	return postForStream(call, {
		path,
		body,
		accept: "text/event-stream, application/json",
		headers,
		types: ["text/event-stream"],
		schema,
		take: (source, deadline) => watchEvents(call, source, deadline, choices, formatStreamError),
	});
}

interface StreamOptions<Schema> {
	schema: Schema;
	choices: number;
	/** The stream is to be passed on as it is. */
	formatStreamError?: StreamErrorFormatter | undefined;
}

interface StreamRequest<Schema> extends Request {
	/** Media types of a stream; anything else is a value. */
	types: readonly string[];
	schema: Schema;
	/** Takes over the source and the deadline. */
	take(source: ReadableStream<Uint8Array>, deadline: Deadline): Promise<Relayed>;
}

/** Asks for a stream of whatever events. */
export async function postForStream<Schema extends z.ZodType>(
	call: Call,
	{ types, schema, take, ...request }: StreamRequest<Schema>,
): Promise<StreamReply<z.output<Schema>>> {
	const exchange = await open(call, { ...request, streams: true });
	const { response, deadline } = exchange;
	if (types.includes(mediaType(response) ?? "") && response.body)
		return { kind: "stream", ...(await take(response.body, deadline)) };
	return { kind: "value", value: await readValue(exchange, schema) };
}

interface Request extends RequestOptions {
	path: string;
	/** Absent: a GET. */
	body?: RequestBody;
	accept: string;
	/** The header comes before the answer is made. */
	streams?: true;
}

/** An answer whose body has not been read. Reading it closes the deadline. */
interface Exchange {
	call: Call;
	path: string;
	response: Response;
	deadline: Deadline;
}

async function open(call: Call, request: Request): Promise<Exchange> {
	const { target, world } = call;
	const { path, body } = request;
	// Of a form and of a file, the runtime knows the type.
	const isRaw = body instanceof FormData || body instanceof Blob;
	// All names are in small letters, so that none is said twice.
	const headers = {
		...target.headers,
		...request.headers,
		accept: request.accept,
		...(target.key !== undefined && { authorization: `Bearer ${target.key}` }),
		...(body && !isRaw && { "content-type": "application/json" }),
	};

	const answers = request.streams ? "stream" : "whole";
	const deadline = startDeadline(target, world.now, call.signal, answers);
	try {
		deadline.signal.throwIfAborted();
		// Called without its object: the runtime's own fetch refuses another `this`.
		const { fetch } = world;
		const response = await deadline.race(
			fetch(target.url + path, {
				method: body ? "POST" : "GET",
				headers,
				body: isRaw ? body : body && JSON.stringify(body),
				redirect: "manual",
				signal: deadline.signal,
			}).catch((error: unknown) => {
				throw failureOfFetch(call, error);
			}),
		);
		deadline.rest();
		if (!response.ok) throw await failureOfResponse({ call, path, response, deadline }, answers === "stream");
		return { call, path, response, deadline };
	} catch (error) {
		deadline.close();
		throw deadline.signal.aborted ? deadline.signal.reason : error;
	}
}

async function failureOfResponse({ call, response, deadline }: Exchange, streams: boolean): Promise<AiError> {
	// What went wrong while reading about the failure is not the failure, unless time is up or the caller has left.
	const { bytes } = await readUpTo(MAX_ERROR_BYTES, call, response, deadline).catch((error: unknown) => {
		if (deadline.signal.aborted) throw error;
		return { bytes: new Uint8Array() };
	});
	const { status, headers } = response;
	return failureOfStatus(call, { status, headers, text: UTF8.decode(bytes), streams });
}

async function readValue<Schema extends z.ZodType>(
	exchange: Exchange,
	schema: Schema,
	parse?: (text: string) => unknown,
): Promise<z.output<Schema>> {
	const { call, path } = exchange;
	const value = parseJson(await readText(exchange), parse);
	const parsed = schema.safeParse(value);
	if (parsed.success) return parsed.data;
	// Some servers say no with a 200 (LM Studio, for a route that it does not have).
	if (isError(value)) throw failureOfBody(call, value);
	throw failureOfShape(call, `a reply of ${path}`);
}

const isError = (value: unknown): boolean =>
	typeof value === "object" && value !== null && "error" in value && value.error !== null;

const UTF8 = new TextDecoder();

/** Text that is not JSON is no value of any schema. */
function parseJson(text: string, parse: (text: string) => unknown = JSON.parse): unknown {
	try {
		return parse(text);
	} catch {
		return undefined;
	}
}

const mediaType = (response: Response): string | undefined =>
	response.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();

async function readText(exchange: Exchange): Promise<string> {
	const { call, response, deadline } = exchange;
	if (isShort(response, MAX_VALUE_BYTES)) return readShort(call, deadline, () => response.text());
	return UTF8.decode(await readWhole(exchange));
}

async function readWhole({ call, response, deadline }: Exchange): Promise<Uint8Array<ArrayBuffer>> {
	const { bytes, more } = await readUpTo(MAX_VALUE_BYTES, call, response, deadline);
	if (more) throw failureOfSize(call, "a reply", MAX_VALUE_BYTES);
	return bytes;
}
