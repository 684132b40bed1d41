import { describe, expect, it } from "vitest";
import { AiError, type FailureKey } from "../../../src/core/errors.ts";
import { errorFrame } from "../../../src/dialects/chat/errors.ts";

describe("errorFrame", () => {
	it("is one event with the REST API's message, OpenAI's type and the product's code", () => {
		expect(errorFrame(new AiError("outOfCapacity"))).toBe(
			'data: {"error":{"message":"AiError: Out of capacity: Capacity temporarily exceeded, please try again.","type":"rate_limit_exceeded","code":3040}}\n\n',
		);
	});

	it.each<[FailureKey, string]>([
		["executionFailed", "server_error"],
		["modelTimeout", "server_error"],
		["upstreamUnavailable", "server_error"],
		["badInput", "invalid_request_error"],
	])("%s is a %s", (key, type) => {
		expect(errorFrame(new AiError(key))).toContain(`"type":"${type}"`);
	});
});
