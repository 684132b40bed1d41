import { describe, expect, it } from "vitest";
import { AiError, type FailureKey } from "../../src/core/errors.ts";
import { openAiError } from "../../src/dialects/openai-error.ts";

describe("openAiError", () => {
	it.each<[FailureKey, string, string | null]>([
		["badInput", "invalid_request_error", null],
		["contextWindowExceeded", "invalid_request_error", "context_length_exceeded"],
		["noSuchModel", "invalid_request_error", "model_not_found"],
		["deprecatedModel", "invalid_request_error", "model_not_found"],
		["authentication", "authentication_error", "invalid_api_key"],
		["forbidden", "permission_error", null],
		["rateLimited", "rate_limit_error", "rate_limit_exceeded"],
		["outOfCapacity", "rate_limit_error", "rate_limit_exceeded"],
		["budgetExceeded", "insufficient_quota", "insufficient_quota"],
		["freeAllocationUsed", "insufficient_quota", "insufficient_quota"],
		["modelTimeout", "server_error", null],
		["executionFailed", "server_error", null],
		["noRoute", "invalid_request_error", null],
	])("%s is %s", (key, type, code) => {
		expect(openAiError(new AiError(key), "req-1")).toMatchObject({ type, code });
	});

	it("has the envelope's message", () => {
		expect(openAiError(new AiError("noSuchModel", "No such model x or task"), "req-1").message).toBe(
			"AiError: No such model: No such model x or task (req-1)",
		);
		expect(openAiError(new AiError("noRoute"), "").message).toBe("No route for that URI");
	});

	it.each<[FailureKey, string, string | null]>([
		["badInput", "Error: required properties at '/' are 'model'", "model"],
		["badInput", "Error: required properties at '/messages/0' are 'content,role'", "messages[0]"],
		["badInput", "Error: required properties at '/messages/0' are 'content'", "messages[0].content"],
		["badInput", "Error: '/messages/1/content/0/image_url' must be text", "messages[1].content[0].image_url"],
		["badInput", "Error: the request body is not valid UTF-8", null],
		["invalidInput", "Invalid input: tools[0].name: expected text, found nothing", "tools[0].name"],
		["invalidInput", "Invalid input: tool_choice needs tools", null],
		["noSuchModel", "No such model x or task", "model"],
		["invalidRequest", 'purpose: expected "batch" or "evals", found nothing', "purpose"],
		[
			"invalidRequest",
			"expires_after[seconds]: expected at least 3600, found 1; purpose: …",
			"expires_after[seconds]",
		],
		["invalidRequest", "metadata.a: expected at most 512 characters, found 513", "metadata.a"],
		["invalidRequest", "body: expected an object, found a list", null],
		["invalidRequest", "query: expected an object, found nothing", null],
		["invalidRequest", "This log cannot be replayed: it has no request", null],
		["noSuchFile", "No such File object: file-1", "id"],
	])("names the field of %s %j", (key, description, param) => {
		expect(openAiError(new AiError(key, description), "").param).toBe(param);
	});

	it("names the field that the failure has", () => {
		const error = new AiError("noSuchFile", "No such File object: file-1", { field: "input_file_id" });
		expect(openAiError(error, "").param).toBe("input_file_id");
	});
});
