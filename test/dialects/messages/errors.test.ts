import { expect, it } from "vitest";
import { AiError, type FailureKey } from "../../../src/core/errors.ts";
import { clientStatus } from "../../../src/dialects/client-failure.ts";
import { messagesError } from "../../../src/dialects/messages/errors.ts";

it.each([
	["missingProviderKey", 402, "billing_error"],
	["badInput", 400, "invalid_request_error"],
	["noSuchModel", 404, "not_found_error"],
	["noRoute", 404, "not_found_error"],
	["methodNotAllowed", 405, "invalid_request_error"],
	["authentication", 401, "authentication_error"],
	["forbidden", 403, "permission_error"],
	["notFound", 404, "not_found_error"],
	["deprecatedModel", 404, "not_found_error"],
	["timeout", 408, "timeout_error"],
	["requestTooLarge", 413, "request_too_large"],
	["rateLimited", 429, "rate_limit_error"],
	["outOfCapacity", 429, "overloaded_error"],
	["executionFailed", 500, "api_error"],
	["upstreamUnavailable", 502, "api_error"],
] satisfies [FailureKey, number, string][])("%s is %s %s", (key, status, type) => {
	expect(clientStatus(new AiError(key))).toBe(status);
	expect(messagesError(new AiError(key, "What happened"), "req-1")).toEqual({
		type: "error",
		error: { type, message: "What happened" },
		request_id: "req-1",
	});
});

it.each([
	[
		{ inputTokens: 20_000, outputTokens: 32_000, limit: 32_768 },
		"input length and `max_tokens` exceed context limit: 20000 + 32000 > 32768, decrease input length or `max_tokens` and try again",
	],
	// Claude Code does not shorten to less than 3,000 tokens, with 1,000 in reserve.
	[
		{ inputTokens: 28_768, outputTokens: 32_000, limit: 32_768 },
		"input length and `max_tokens` exceed context limit: 28768 + 32000 > 32768, decrease input length or `max_tokens` and try again",
	],
	[
		{ inputTokens: 28_769, outputTokens: 32_000, limit: 32_768 },
		"prompt is too long: 28769 tokens > 32768 maximum",
	],
	[
		{ inputTokens: 40_000, outputTokens: 1, limit: 32_768 },
		"prompt is too long: 40000 tokens > 32768 maximum",
	],
	[{ inputTokens: 40_000, limit: 32_768 }, "prompt is too long: 40000 tokens > 32768 maximum"],
])("an input that is too long with the counts %j has Anthropic's own sentence", (overflow, message) => {
	const failure = new AiError("contextWindowExceeded", "Too long.", { overflow });
	expect(messagesError(failure, "req-1").error).toEqual({ type: "invalid_request_error", message });
});

it("a prompt that is too long is 400, with the text that clients search for", () => {
	const failure = new AiError("contextWindowExceeded", "32001 tokens, of 32000");
	expect(clientStatus(failure)).toBe(400);
	expect(messagesError(failure, "req-1").error).toEqual({
		type: "invalid_request_error",
		message: "prompt is too long: 32001 tokens, of 32000",
	});
});
