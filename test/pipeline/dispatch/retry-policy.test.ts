import { describe, expect, it } from "vitest";
import { AiError, type FailureKey } from "../../../src/core/errors.ts";
import { decide, isHealthy, pauseMs } from "../../../src/pipeline/dispatch/retry-policy.ts";

const failure = (key: FailureKey, status?: number) =>
	new AiError(key, undefined, { upstream: { backend: "engine", ...(status !== undefined && { status }) } });

describe("the decision after a failure", () => {
	it.each([
		["invalidInput", 400, "fail"],
		["outOfCapacity", 429, "retry"],
		["timeout", undefined, "nextTarget"],
		["modelTimeout", undefined, "nextTarget"],
		["upstreamUnavailable", undefined, "retry"],
		["executionFailed", undefined, "retry"],
		["executionFailed", 299, "retry"],
		["executionFailed", 300, "nextTarget"],
		["executionFailed", 499, "nextTarget"],
		["executionFailed", 500, "retry"],
		["executionFailed", 501, "nextTarget"],
		["executionFailed", 502, "retry"],
	] as const)("%s with status %s is '%s'", (key, status, decision) => {
		expect(decide(failure(key, status))).toBe(decision);
	});

	it("is 'fail' for a failure that is marked as final", () => {
		expect(decide(new AiError("executionFailed", undefined, { retryable: false }))).toBe("fail");
	});

	it.each(["outOfCapacity", "upstreamUnavailable", "executionFailed"] as const)(
		"is 'nextTarget' for %s that lasts",
		(key) => {
			expect(decide(new AiError(key, undefined, { isLasting: true }))).toBe("nextTarget");
		},
	);

	it("is 'retry' for a failure without an upstream", () => {
		expect(decide(new AiError("executionFailed"))).toBe("retry");
	});
});

describe("the health that a failure shows", () => {
	it.each([
		["executionFailed", undefined, false],
		["executionFailed", 399, false],
		["executionFailed", 400, undefined],
		["executionFailed", 499, undefined],
		["executionFailed", 500, false],
		["executionFailed", 501, undefined],
		["outOfCapacity", 429, false],
		["outOfCapacity", 501, undefined],
		["timeout", undefined, false],
		["upstreamUnavailable", 502, false],
		["upstreamUnavailable", 401, false],
		["upstreamUnavailable", 403, undefined],
		["modelTimeout", 200, undefined],
		["invalidInput", 400, true],
		["invalidInput", undefined, undefined],
	] as const)("of %s with status %s is %s", (key, status, healthy) => {
		expect(isHealthy(failure(key, status))).toBe(healthy);
	});

	it("is unknown where no engine failed", () => {
		expect(isHealthy(new AiError("executionFailed"))).toBeUndefined();
	});
});

describe("the pause before the next call", () => {
	const retries = { attempts: 9, baseMs: 100, maxMs: 1_000 };

	it.each([
		[1, undefined, 1, 100],
		[1, undefined, 0.5, 50],
		[2, undefined, 1, 200],
		[4, undefined, 1, 800],
		[5, undefined, 1, 1_000],
		[1, 0.5, 1, 600],
		[1, 1, 0, 1_000],
		[1, 1.001, 0, undefined],
	] as const)("after %i calls, Retry-After %s and random number %d is %s ms", (...row) => {
		const [calls, retryAfter, random, expected] = row;
		expect(pauseMs(retries, calls, retryAfter, () => random)).toBe(expected);
	});
});
