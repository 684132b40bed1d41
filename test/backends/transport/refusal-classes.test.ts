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
	])("of status %i, %j, is %s", (status, sent, key) => {
		expect(keyOfRefusal(status, sent)).toBe(key);
	});
});
