import { describe, expect, it } from "vitest";
import { AiError, type FailureKey } from "../../src/core/errors.ts";
import { FailureCounts, failureClass } from "../../src/telemetry/failure-counts.ts";

describe("the class of a failure", () => {
	it.each<[FailureKey, string]>([
		["authentication", "authentication"],
		["forbidden", "authentication"],
		["rateLimited", "limit"],
		["budgetExceeded", "limit"],
		["missingProviderKey", "limit"],
		["paidPlanRequired", "limit"],
		["storageFull", "limit"],
		["gatewayLimited", "limit"],
		["spendLimited", "rule"],
		["gatewayRequired", "rule"],
		["requestLeak", "rule"],
		["runPromptBlocked", "rule"],
		["guardrailsUnavailable", "rule"],
		["outOfCapacity", "capacity"],
		["badInput", "request"],
		["noSuchModel", "request"],
		["noRoute", "request"],
		["aborted", "cancelled"],
		["upstreamUnavailable", "server"],
		["executionFailed", "server"],
		["modelTimeout", "server"],
		["providerUnreachable", "server"],
	])("%s: %s", (key, expected) => {
		expect(failureClass(new AiError(key))).toBe(expected);
	});
});

it("a failure that passes several places counts once", () => {
	const counts = new FailureCounts();
	const failure = new AiError("rateLimited");
	counts.add(failure);
	counts.add(failure);
	counts.add(new AiError("rateLimited"));
	expect(counts.metrics()[0]?.samples).toEqual([
		[{ class: "limit", failure: "rateLimited", code: "3021", status: "429" }, 2],
	]);
});
