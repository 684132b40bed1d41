import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { type FailedTarget, summarizeAttempts } from "../../../src/pipeline/dispatch/attempt-summary.ts";
import type { PlannedTarget } from "../../../src/pipeline/plan.ts";
import { TARGET } from "../../backends/upstream.ts";

const planned = (backend: string): PlannedTarget => ({ ...TARGET, backend, circuit: "closed" });
const turns = (...all: [string, AiError, number?][]): Map<PlannedTarget, FailedTarget> =>
	new Map(all.map(([backend, failure, calls = 1]) => [planned(backend), { failure, calls }]));

const last = new AiError("outOfCapacity", "The backend 'b' is full", {
	retryAfter: 7,
	retryable: false,
	upstream: { backend: "b", status: 429 },
	cause: "why",
});

describe("summarizeAttempts", () => {
	it("is the failure itself where no other target failed", () => {
		expect(summarizeAttempts(last, turns())).toBe(last);
		expect(summarizeAttempts(last, turns(["b", last, 3]))).toBe(last);
	});

	it("keeps all but the sentence", () => {
		last.place = { backend: "b", model: "m", replica: "b.example", attempt: 2 };
		const combined = summarizeAttempts(last, turns(["a", new AiError("timeout")], ["b", last]));
		expect(combined).toMatchObject({
			key: "outOfCapacity",
			description: "The backend 'b' is full (called in turn: a: 3007; b: 3040, is full)",
			retryAfter: 7,
			retryable: false,
			upstream: { backend: "b", status: 429 },
			cause: "why",
			place: { backend: "b", model: "m", replica: "b.example", attempt: 2 },
		});
	});

	it("has no wait and no upstream where the failure has none", () => {
		const failure = new AiError("executionFailed", "Failed");
		const combined = summarizeAttempts(failure, turns(["a", last]));
		expect([combined.retryAfter, combined.upstream]).toEqual([undefined, undefined]);
	});

	it("has the number of calls of a target, if more than one", () => {
		const failure = new AiError("executionFailed", "Failed");
		expect(summarizeAttempts(failure, turns(["a", last, 1], ["b", last, 2])).description).toBe(
			"Failed (called in turn: a: 3040, HTTP 429; b: 3040, is full, 2 calls)",
		);
	});

	it("shortens a reason to 100 characters, and leaves the backend's kind out of it", () => {
		const failure = new AiError("executionFailed", "Failed");
		const long = new AiError("noSuchModel", `No model: backend 'a' (openai) ${"x".repeat(101)}`);
		expect(summarizeAttempts(failure, turns(["a", long])).description).toBe(
			`Failed (called in turn: a: 5007, ${"x".repeat(100)})`,
		);
	});

	it("names eight targets, and counts the others", () => {
		const failure = new AiError("executionFailed", "Failed");
		const names = (count: number) =>
			Array.from({ length: count }, (_, i): [string, AiError] => [`e${i}`, new AiError("timeout")]);
		const eight = "e0: 3007; e1: 3007; e2: 3007; e3: 3007; e4: 3007; e5: 3007; e6: 3007; e7: 3007";
		expect(summarizeAttempts(failure, turns(...names(8))).description).toBe(
			`Failed (called in turn: ${eight})`,
		);
		expect(summarizeAttempts(failure, turns(...names(10))).description).toBe(
			`Failed (called in turn: ${eight}; and 2 more)`,
		);
	});
});
