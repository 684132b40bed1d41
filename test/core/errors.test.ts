import { describe, expect, it } from "vitest";
import { AiError, FAILURES, toAiError } from "../../src/core/errors.ts";

describe("AiError", () => {
	it("carries the code, the status and the retry flag of its failure", () => {
		const error = new AiError("outOfCapacity", undefined, { retryAfter: 2 });
		expect(error).toMatchObject({
			name: "AiError",
			message: "3040: Capacity temporarily exceeded, please try again.",
			code: 3040,
			status: 429,
			retryable: true,
			retryAfter: 2,
		});
	});

	it("keeps an unknown error's text from the caller and gives it to the log", () => {
		const cause = new Error("connect ECONNREFUSED sk-secret");
		const error = toAiError(cause);
		expect(error).toMatchObject({ code: 5001, status: 500, description: "Model execution failed" });
		expect(error.cause).toBe(cause);
	});

	it("sees an abort as the caller's", () => {
		expect(toAiError(new DOMException("The operation was aborted", "AbortError"))).toMatchObject({
			code: 3008,
		});
	});

	it("has one failure for each code and status of a plane, but for those that only their description distinguishes", () => {
		const byCode = Map.groupBy(
			Object.entries(FAILURES),
			([, { plane, code, status }]) => `${plane} ${code} ${status}`,
		);
		const shared = [...byCode.values()].filter(({ length }) => length > 1);
		expect(shared.map((failures) => failures.map(([key]) => key))).toEqual([
			["accountLimited", "budgetExceeded", "budgetReserved"],
			[
				"ledgerUnavailable",
				"storageUnavailable",
				"responseStoreUnavailable",
				"vectorsUnavailable",
				"searchUnavailable",
			],
			["notFound", "noSuchAdapter", "noSuchFile", "noSuchBatch", "searchNotFound"],
			["previousResponseNotFound", "itemNotFound"],
			["accountDeleted", "adapterExists"],
			["runPromptBlocked", "runResponseBlocked"],
			["gatewayUnauthorized", "providerKeyRefused"],
		]);
	});

	it("has the product's words for what an account may not", () => {
		expect(new AiError("freeAllocationUsed")).toMatchObject({
			message:
				"4006: you have used up your daily free allocation of 10,000 neurons, please upgrade to Cloudflare's Workers Paid plan if you would like to continue usage.",
			status: 429,
			retryable: false,
		});
		expect(new AiError("rateLimited")).toMatchObject({
			message: "3021: rate limiting: inference request per min rate reached",
			status: 429,
			retryable: false,
		});
		expect(new AiError("forbidden")).toMatchObject({ message: "10000: Authentication error", status: 403 });
	});

	it("has AI Gateway's words for a third party's model", () => {
		expect(new AiError("missingProviderKey")).toMatchObject({
			message: "2021: Insufficient AI Gateway credits",
			status: 402,
			retryable: false,
		});
		expect(new AiError("unknownThirdPartyModel", "Model not found: openai/gpt-0")).toMatchObject({
			message: "7003: Model not found: openai/gpt-0",
			status: 404,
			retryable: false,
		});
	});
});
