/**
 * Cloudflare's v4 envelope, around results and around failures.
 *
 * Observed of the product: an inference failure has `errors` first and an empty object as `result`; a failure at the
 * API's edge, or of AI Gateway's, has `result: null`.
 */
import { failureMessage } from "../dialects/failure-message.ts";
import { type AiError, FAILURES } from "../errors.ts";
import type { Reply } from "../request.ts";
import { SSE_CONTENT_TYPE } from "../sse.ts";
import { socketResponse } from "./socket.ts";

export const envelope = (result: unknown, extra: object = {}): Response =>
	Response.json({ result, success: true, errors: [], messages: [], ...extra });

/** Comes second after an id that routes nowhere. */
const NO_ROUTE = { code: FAILURES.noRoute.code as number, message: FAILURES.noRoute.description as string };

export function failureEnvelope(error: AiError, requestId: string): Response {
	const { code, description, failure, status } = error;
	if (failure.plane !== "inference") {
		const errors = [{ code, message: description }];
		if (error.key === "unroutableAccount") errors.push(NO_ROUTE);
		return Response.json({ result: null, success: false, errors, messages: [] }, { status });
	}
	return Response.json(
		{
			errors: [{ message: failureMessage(error, requestId), code }],
			success: false,
			result: {},
			messages: [],
		},
		{ status, headers: failureHeaders(error, requestId) },
	);
}

export function failureHeaders({ retryAfter, upstream, attempts }: AiError, requestId: string): Headers {
	const headers = new Headers({ "cf-ai-req-id": requestId });
	if (upstream) headers.set("x-ganglion-backend", upstream.backend);
	if (attempts) headers.set("x-ganglion-attempts", String(attempts));
	if (retryAfter !== undefined) headers.set("retry-after", String(Math.ceil(retryAfter)));
	return headers;
}

/** A reply as a response: bytes, events and websockets as they are, JSON as `wrap` has it. */
export function replyResponse(
	{ served, neurons, body }: Reply,
	requestId: string,
	wrap: (value: unknown) => Response,
): Response {
	const response = bodyResponse(body, requestId, wrap);
	response.headers.set("cf-ai-req-id", requestId);
	response.headers.set("x-ganglion-backend", served.backend);
	response.headers.set("x-ganglion-model", encodeURI(served.model));
	response.headers.set("x-ganglion-attempts", String(served.attempts));
	if (neurons !== undefined) response.headers.set("cf-ai-neurons", neurons.toFixed(2));
	return response;
}

function bodyResponse(body: Reply["body"], requestId: string, wrap: (value: unknown) => Response): Response {
	switch (body.kind) {
		case "json":
			return wrap(body.value);
		case "bytes":
			return new Response(body.media.bytes, {
				headers: { "content-type": body.media.contentType ?? "application/octet-stream" },
			});
		case "events":
			return new Response(body.events, {
				headers: { "content-type": SSE_CONTENT_TYPE, "cache-control": "no-cache" },
			});
		case "socket":
			return socketResponse(body.frames, requestId);
		default:
			return body satisfies never;
	}
}
