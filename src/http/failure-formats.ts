/** The formats of failures. Each route declares one. Calls over RPC throw errors instead. */
import type { HonoRequest } from "hono";
import type { AiError } from "../core/errors.ts";
import { clientStatus } from "../dialects/client-failure.ts";
import { geminiError } from "../dialects/gemini/errors.ts";
import { messagesError } from "../dialects/messages/errors.ts";
import { openAiError } from "../dialects/openai-error.ts";
import { responsesError, responsesStatus } from "../dialects/responses/errors.ts";
import { failureEnvelope, failureHeaders } from "./envelope.ts";

/** A header of Anthropic's SDKs. */
export const ANTHROPIC_VERSION = "anthropic-version";
/** A header of Google's SDKs. */
export const GOOGLE_KEY = "x-goog-api-key";

export type FailureFormat = (error: AiError, requestId: string, request: HonoRequest) => Response;

/** Cloudflare's v4 envelope. */
export const v4Failure: FailureFormat = (error, requestId) => failureEnvelope(error, requestId);

/** The v4 envelope with OpenAI's `error` added. OpenAI's SDKs read the id from `x-request-id`. */
export function openAiFailure(error: AiError, requestId: string): Response {
	const response = failureEnvelope(error, requestId, { error: openAiError(error, requestId) });
	if (error.failure.plane === "inference") response.headers.set("x-request-id", requestId);
	return response;
}

/** OpenAI's Responses: without the envelope, as in the product, with all fields of OpenAI's `error`. */
export function responsesFailure(error: AiError, requestId: string): Response {
	if (error.failure.plane !== "inference") return openAiFailure(error, requestId);
	const { type, param } = openAiError(error, requestId);
	const headers = failureHeaders(error, requestId);
	headers.set("x-request-id", requestId);
	return Response.json(
		{ error: { ...responsesError(error, requestId), type, param } },
		{ status: responsesStatus(error), headers },
	);
}

/** Anthropic's Messages. */
export function messagesFailure(error: AiError, requestId: string): Response {
	const headers = failureHeaders(error, requestId);
	headers.set("request-id", requestId);
	return Response.json(messagesError(error, requestId), { status: clientStatus(error), headers });
}

/** Google's Gemini API. */
export const geminiFailure = (error: AiError, requestId: string): Response =>
	Response.json(geminiError(error), {
		status: clientStatus(error),
		headers: failureHeaders(error, requestId),
	});

/** OpenAI's; Anthropic's for a client that sends `anthropic-version`, Google's for one that sends `x-goog-api-key`. */
export const failureOfClient: FailureFormat = (error, requestId, request) => {
	if (request.header(ANTHROPIC_VERSION) !== undefined) return messagesFailure(error, requestId);
	return (request.header(GOOGLE_KEY) === undefined ? openAiFailure : geminiFailure)(error, requestId);
};

/** An error that is thrown over RPC. RPC keeps own properties but not the class. The cause is omitted: it may be secret. */
export const toRpcError = ({ code, description, failure, message, name, status }: AiError): Error =>
	Object.assign(new Error(message), {
		name: failure.plane === "gateway" ? failure.name : name,
		internalCode: code,
		httpCode: status,
		description,
	});
