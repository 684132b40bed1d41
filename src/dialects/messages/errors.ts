/**
 * Failures in Anthropic's form: https://docs.anthropic.com/en/api/errors. Statuses are the gateway's, except those that
 * clients react to: an unknown model is 404, a prompt that is too long is 400.
 */
import type { AiError } from "../../core/errors.ts";
import { clientStatus } from "../client-failure.ts";

export const messagesError = (failure: AiError, requestId: string) => ({
	type: "error",
	error: { type: errorType(failure), message: messageOf(failure) },
	request_id: requestId,
});

/** Clients compact the conversation if the message contains this text. */
const TOO_LONG = "prompt is too long";
/**
 * Claude Code requests fewer tokens if the answer still has as much room as this. Otherwise it would neither do that nor compact the
 * conversation.
 */
const MIN_ANSWER_TOKENS = 4_000;

/** Of an input that is too long, in the words of Anthropic's API, which clients search for. */
function messageOf({ key, description, overflow }: AiError): string {
	if (key !== "contextWindowExceeded") return description;
	if (!overflow) return `${TOO_LONG}: ${description}`;
	const { inputTokens, outputTokens, limit } = overflow;
	if (outputTokens && limit - inputTokens >= MIN_ANSWER_TOKENS)
		return `input length and \`max_tokens\` exceed context limit: ${inputTokens} + ${outputTokens} > ${limit}, decrease input length or \`max_tokens\` and try again`;
	return `${TOO_LONG}: ${inputTokens} tokens > ${limit} maximum`;
}

function errorType(failure: AiError): string {
	// It can be retried like 429, but the caller has not exceeded a rate limit.
	if (failure.key === "outOfCapacity") return "overloaded_error";
	const status = clientStatus(failure);
	switch (status) {
		case 401:
			return "authentication_error";
		case 402:
			return "billing_error";
		case 403:
			return "permission_error";
		case 404:
			return "not_found_error";
		case 408:
			return "timeout_error";
		case 413:
			return "request_too_large";
		case 429:
			return "rate_limit_error";
		default:
			return status >= 500 ? "api_error" : "invalid_request_error";
	}
}
