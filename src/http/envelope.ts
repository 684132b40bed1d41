/**
 * Cloudflare's v4 envelope, for results and failures.
 *
 * Observed at the product: an inference failure has `errors` first and an empty object as `result`. A failure of the API
 * or of AI Gateway has `result: null`.
 */
import { type AiError, FAILURES } from "../core/errors.ts";
import { HeaderTemplates } from "../core/header-templates.ts";
import { failureMessage } from "../dialects/failure-message.ts";
import type { Reply } from "../pipeline/request.ts";
import { completeResponse } from "../streams/complete-body.ts";
import { SSE_CONTENT_TYPE } from "../streams/sse.ts";
import { type SocketSession, socketResponse } from "./socket.ts";

/** The header with the request's id. */
export const REQUEST_ID = "cf-ai-req-id";

const enveloped = (result: unknown, extra: object = {}): object => ({
	result,
	success: true,
	errors: [],
	messages: [],
	...extra,
});

export const envelope = (result: unknown, extra: object = {}): Response =>
	Response.json(enveloped(result, extra));

/** The second error of a reply to an unroutable account id. */
const NO_ROUTE = { code: FAILURES.noRoute.code as number, message: FAILURES.noRoute.description as string };

export function failureEnvelope(error: AiError, requestId: string, extra: object = {}): Response {
	const { code, description, failure, status } = error;
	if (failure.plane !== "inference") {
		const errors = [{ code, message: description }];
		if (error.key === "unroutableAccount") errors.push(NO_ROUTE);
		const body = { result: null, success: false, errors, messages: [], ...extra };
		return Response.json(body, { status, headers: retryHeaders(error) });
	}
	return Response.json(
		{
			errors: [{ message: failureMessage(error, requestId), code }],
			success: false,
			result: {},
			messages: [],
			...extra,
		},
		{ status, headers: failureHeaders(error, requestId) },
	);
}

const retryHeaders = ({ retryAfter }: Pick<AiError, "retryAfter">): Record<string, string> =>
	retryAfter === undefined ? {} : { "retry-after": String(Math.ceil(retryAfter)) };

export function failureHeaders(
	{ exchange, perMinute, retryAfter, upstream }: AiError,
	requestId?: string,
): Headers {
	const headers = new Headers(retryHeaders({ retryAfter }));
	if (requestId !== undefined) headers.set(REQUEST_ID, requestId);
	if (upstream) headers.set("x-ganglion-backend", upstream.backend);
	if (exchange?.attempts) headers.set("x-ganglion-attempts", String(exchange.attempts));
	// OpenAI's names (platform.openai.com/docs/guides/rate-limits).
	if (perMinute !== undefined) {
		headers.set("x-ratelimit-limit-requests", String(perMinute));
		headers.set("x-ratelimit-remaining-requests", "0");
		if (retryAfter !== undefined) headers.set("x-ratelimit-reset-requests", `${Math.ceil(retryAfter)}s`);
	}
	return headers;
}

/** The fields after `result`, with the closing brace. */
const ENVELOPE_END = JSON.stringify(enveloped(undefined)).slice(1);

/** How a surface writes the JSON of a reply: unchanged, or in the envelope. */
export const WRAPS = {
	bare: (json: string): string => json,
	envelope: (json: string): string => `{"result":${json},${ENVELOPE_END}`,
} as const;

interface ReplyOptions {
	/** Another header with the request's id. */
	alsoId?: string;
	/** Rejects if the caller may not use a websocket any more. Absent: the surface has none. */
	session?: SocketSession;
}

const templates = new HeaderTemplates();

/** A reply as a response. `wrap` applies to JSON only. */
export function replyResponse(
	reply: Reply,
	requestId: string,
	wrap: (json: string) => string,
	{ alsoId, session }: ReplyOptions = {},
): Response {
	const { served, neurons, dropped, body } = reply;
	const own: Record<string, string> = { [REQUEST_ID]: requestId };
	if (alsoId !== undefined) own[alsoId] = requestId;
	if (neurons !== undefined) own["cf-ai-neurons"] = neurons.toFixed(2);
	if (dropped !== undefined) own["x-ganglion-dropped"] = dropped.join(", ");
	if (body.kind === "bytes") own["content-type"] = body.media.contentType ?? "application/octet-stream";
	const model = encodeURI(served.model);
	const { weights } = served;
	const key = `${served.backend} ${model} ${weights} ${served.attempts} ${body.kind} ${Object.keys(own)}`;
	const fixed = () => ({
		"x-ganglion-backend": served.backend,
		"x-ganglion-model": model,
		"x-ganglion-attempts": String(served.attempts),
		...(weights !== undefined && { "x-ganglion-weights": weights }),
		...CONTENT_HEADERS[body.kind],
	});
	const headers = templates.fill(key, fixed, own);
	switch (body.kind) {
		case "json":
			return completeResponse(wrap(body.text ?? JSON.stringify(body.value)), { headers });
		case "bytes":
			return completeResponse(body.media.bytes, { headers });
		case "events":
			return new Response(body.events, { headers });
		case "socket": {
			if (!session) throw new TypeError("no verification of the frames of a websocket");
			const response = socketResponse(body.frames, requestId, session);
			for (const [name, value] of headers) response.headers.set(name, value);
			return response;
		}
		default:
			return body satisfies never;
	}
}

const CONTENT_HEADERS: Readonly<Record<Reply["body"]["kind"], Record<string, string>>> = {
	// Exactly this type: the runtime's client treats "application/json; charset=utf-8" as a stream.
	json: { "content-type": "application/json" },
	events: { "content-type": SSE_CONTENT_TYPE, "cache-control": "no-cache" },
	bytes: {},
	socket: {},
};
