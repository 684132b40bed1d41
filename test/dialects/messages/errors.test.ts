import { expect, it } from "vitest";
import { messagesError } from "../../../src/dialects/messages/errors.ts";
import { AiError, type FailureKey } from "../../../src/errors.ts";

it.each([
	["missingProviderKey", "billing_error"],
	["badInput", "invalid_request_error"],
	["noSuchModel", "invalid_request_error"],
	["methodNotAllowed", "invalid_request_error"],
	["authentication", "authentication_error"],
	["forbidden", "permission_error"],
	["notFound", "not_found_error"],
	["deprecatedModel", "not_found_error"],
	["timeout", "timeout_error"],
	["requestTooLarge", "request_too_large"],
	["rateLimited", "rate_limit_error"],
	["outOfCapacity", "overloaded_error"],
	["executionFailed", "api_error"],
	["upstreamUnavailable", "api_error"],
] satisfies [FailureKey, string][])("%s is %s", (key, type) => {
	expect(messagesError(new AiError(key, "What happened"), "req-1")).toEqual({
		type: "error",
		error: { type, message: "What happened" },
		request_id: "req-1",
	});
});
