/**
 * Cloudflare's v4 envelope, for results and failures.
 *
 * Observed at the product: an inference failure has `errors` first and an empty object as `result`. A failure of the API
 * or of AI Gateway has `result: null`.
 */
import { type AiError, FAILURES } from "../core/errors.ts";
import { failureMessage } from "../dialects/failure-message.ts";
import type { Reply } from "../pipeline/request.ts";
import { completeResponse } from "../streams/complete-body.ts";
import { SSE_CONTENT_TYPE } from "../streams/sse.ts";
import { socketResponse } from "./socket.ts";

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
		return Response.json({ result: null, success: false, errors, messages: [], ...extra }, { status });
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

export function failureHeaders({ retryAfter, upstream, exchange }: AiError, requestId: string): Headers {
	const headers = new Headers({ [REQUEST_ID]: requestId });
	if (upstream) headers.set("x-ganglion-backend", upstream.backend);
	if (exchange?.attempts) headers.set("x-ganglion-attempts", String(exchange.attempts));
	if (retryAfter !== undefined) headers.set("retry-after", String(Math.ceil(retryAfter)));
	return headers;
}

/** The fields after `result`, with the closing brace. */
const ENVELOPE_END = JSON.stringify(enveloped(undefined)).slice(1);

/** How a surface writes the JSON of a reply: unchanged, or in the envelope. */
export const WRAPS = {
	bare: (json: string): string => json,
	envelope: (json: string): string => `{"result":${json},${ENVELOPE_END}`,
} as const;

/** A reply as a response. `wrap` applies to JSON only. */
export function replyResponse(
	{ served, neurons, dropped, body }: Reply,
	requestId: string,
	wrap: (json: string) => string,
	{ alsoId }: { alsoId?: string } = {},
): Response {
	// In one object: each header that is set on a response later is a call of the runtime.
	const headers: Record<string, string> = {
		"x-ganglion-backend": served.backend,
		"x-ganglion-model": encodeURI(served.model),
		"x-ganglion-attempts": String(served.attempts),
		[REQUEST_ID]: requestId,
	};
	if (alsoId !== undefined) headers[alsoId] = requestId;
	if (neurons !== undefined) headers["cf-ai-neurons"] = neurons.toFixed(2);
	if (dropped !== undefined) headers["x-ganglion-dropped"] = dropped.join(", ");
	switch (body.kind) {
		case "json":
			// Exactly this type: the runtime's client treats "application/json; charset=utf-8" as a stream.
			headers["content-type"] = "application/json";
			return completeResponse(wrap(body.text ?? JSON.stringify(body.value)), { headers });
		case "bytes":
			headers["content-type"] = body.media.contentType ?? "application/octet-stream";
			return completeResponse(body.media.bytes, { headers });
		case "events":
			headers["content-type"] = SSE_CONTENT_TYPE;
			headers["cache-control"] = "no-cache";
			return new Response(body.events, { headers });
		case "socket": {
			const response = socketResponse(body.frames, requestId);
			for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
			return response;
		}
		default:
			return body satisfies never;
	}
}
