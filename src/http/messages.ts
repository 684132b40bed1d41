/**
 * What only the routes of Anthropic's Messages have: `x-api-key` as a credential, and failures in Anthropic's format.
 *
 * Known difference from Anthropic: `count_tokens` gives the gateway's own count, not that of the model's tokenizer.
 */
import type { HonoRequest } from "hono";
import type { AiError } from "../core/errors.ts";
import { clientStatus } from "../dialects/client-failure.ts";
import { messagesError } from "../dialects/messages/errors.ts";
import { failureHeaders } from "./envelope.ts";

/** An account's routes, those of the token's account, and those of AI Gateway's provider `anthropic`. */
const BASE = `^(?:(?:/client/v4/accounts/[^/]+/ai)?/v1/|/v1/[^/]+/[^/]+/anthropic/)(?:v1/)?`;
const MESSAGES_PATH = new RegExp(`${BASE}messages(?:/count_tokens|/batches(?:/.+)?)?/?$`);
const MODELS_PATH = new RegExp(`${BASE}models(?:/.+)?$`);

export const isMessagesPath = (path: string): boolean => MESSAGES_PATH.test(path);

/** The routes of Messages, and those of models for a client that sends `anthropic-version`. */
export const isAnthropicRequest = (request: HonoRequest): boolean =>
	isMessagesPath(request.path) ||
	(MODELS_PATH.test(request.path) && request.header("anthropic-version") !== undefined);

export const messagesFailure = (error: AiError, requestId: string): Response => {
	const headers = failureHeaders(error, requestId);
	headers.set("request-id", requestId);
	return Response.json(messagesError(error, requestId), { status: clientStatus(error), headers });
};
