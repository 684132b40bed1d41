/**
 * What the routes of Anthropic's Messages have of their own: `x-api-key` as a credential, failures in Anthropic's shape,
 * and a count of tokens without an answer.
 *
 * Known difference from Anthropic: tokens are counted here, whoever is to answer, and not by the model's own vocabulary.
 */
import type { HonoRequest } from "hono";
import * as z from "zod";
import { messagesError, messagesStatus } from "../dialects/messages/errors.ts";
import { anthropicMessages } from "../dialects/messages/messages.ts";
import type { AiError } from "../errors.ts";
import { promptTokens } from "../metering/measure.ts";
import type { Model } from "../models/model.ts";
import { parse } from "../pipeline/parse.ts";
import { failureHeaders } from "./envelope.ts";

const BASE = String.raw`^(?:/client/v4/accounts/[^/]+/ai)?/v1/(?:v1/)?`;
const MESSAGES_PATH = new RegExp(String.raw`${BASE}messages(?:/count_tokens|/batches(?:/.+)?)?/?$`);
const MODELS_PATH = new RegExp(String.raw`${BASE}models(?:/.+)?$`);

export const isMessagesPath = (path: string): boolean => MESSAGES_PATH.test(path);

/** The routes of Messages, and those of models for a client that sends `anthropic-version`. */
export const isAnthropicRequest = (request: HonoRequest): boolean =>
	isMessagesPath(request.path) ||
	(MODELS_PATH.test(request.path) && request.header("anthropic-version") !== undefined);

export const messagesFailure = (error: AiError, requestId: string): Response => {
	const headers = failureHeaders(error, requestId);
	headers.set("request-id", requestId);
	return Response.json(messagesError(error, requestId), { status: messagesStatus(error), headers });
};

const Counted = z.looseObject({});
/** Whoever only counts sets no limit, which everybody else must. */
const ANY_LIMIT = 1;

/** By our own count, of a body that may be a request's whole one. */
export async function countTokens(body: unknown, model: Model): Promise<Response> {
	const fields = { max_tokens: ANY_LIMIT, ...Counted.parse(body) };
	const { call } = await parse({ fields }, anthropicMessages.reader, { model });
	if (call.task !== "text-generation") throw new TypeError(`Messages were read as ${call.task}`);
	return Response.json({ input_tokens: promptTokens(call.input) });
}
