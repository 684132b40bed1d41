import { describe, expect, it } from "vitest";
import { keyOfRefusal, statusOf } from "../../../src/backends/transport/refusal-classes.ts";

describe("the status of an error inside an answer", () => {
	it.each([
		[{ code: "400" }, 400],
		[{ code: "599" }, 599],
		[{ code: "399" }, 500],
		[{ code: "600" }, 500],
		[{ code: "429.5" }, 500],
		[{ code: "7" }, 500],
		[{}, 500],
		[{ code: "rate_limit_exceeded" }, 429],
		[{ type: "authentication_error" }, 401],
		[{ type: "overloaded_error", code: "rate_limit_exceeded" }, 503],
		[{ type: "overloaded_error", code: "404" }, 404],
		[{ type: "unknown", code: "unknown" }, 500],
		[{ type: "BadRequestError" }, 400],
		[{ type: "invalid_request_error" }, 400],
		[{ type: "exceed_context_size_error" }, 400],
		[{ type: "billing_error" }, 402],
		[{ type: "permission_error" }, 403],
		[{ type: "not_found_error" }, 404],
		[{ type: "request_too_large" }, 413],
		[{ type: "rate_limit_error" }, 429],
		[{ type: "insufficient_quota" }, 429],
		[{ type: "not_supported_error" }, 501],
		[{ type: "unavailable_error" }, 503],
		[{ type: "timeout_error" }, 504],
		[{ code: "400.5", type: "timeout_error" }, 504],
		[{ code: "rate_limit_exceeded", type: "invalid_request_error" }, 429],
		[{ code: "unknown", type: "invalid_request_error" }, 400],
		[{ code: "invalid_api_key", type: "invalid_request_error" }, 401],
		[{ code: "vector_store_timeout" }, 504],
	])("%j is %i", (sent, status) => {
		expect(statusOf(sent)).toBe(status);
	});
});

describe("the failure of a refusal", () => {
	it.each([
		[429, { message: "Request too large for gpt-4o" }, "requestTooLarge"],
		[413, { message: "Request too large for gpt-4o" }, undefined],
		[403, { message: "Your input was flagged" }, "refusedByModel"],
		[400, { message: "Your input was flagged" }, undefined],
		[501, { message: "This server does not support embeddings" }, "engineRefused"],
		[501, {}, undefined],
		[500, { message: "roles must alternate" }, "engineRefused"],
		[502, { message: "roles must alternate" }, undefined],
		[500, { message: "Something else" }, undefined],
		[500, { type: "ValueError", message: "Something else" }, "engineRefused"],
		[503, { type: "ValueError", message: "Something else" }, undefined],
		[400, { message: "prompt is too long: 9 tokens" }, "contextWindowExceeded"],
		[413, { message: "prompt is too long: 9 tokens" }, "contextWindowExceeded"],
		[422, { message: "prompt is too long: 9 tokens" }, "contextWindowExceeded"],
		[500, { message: "prompt is too long: 9 tokens" }, "contextWindowExceeded"],
		[429, { message: "prompt is too long: 9 tokens" }, undefined],
		[503, { message: "prompt is too long: 9 tokens" }, undefined],
		[503, { code: "content_filter" }, "refusedByModel"],
		[503, { type: "context_length_exceeded" }, "contextWindowExceeded"],
		[429, { type: "insufficient_quota" }, "upstreamUnavailable"],
		[400, { code: "billing_not_active" }, "upstreamUnavailable"],
		[400, { message: "Your credit balance is too low" }, "upstreamUnavailable"],
	])("of status %i, %j, is %s", (status, sent, key) => {
		expect(keyOfRefusal(status, sent)).toBe(key);
	});
});
