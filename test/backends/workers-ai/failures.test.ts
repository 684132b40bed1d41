import { describe, expect, it } from "vitest";
import { type AiError, FAILURES } from "../../../src/core/errors.ts";
import authentication from "../../fixtures/workers-ai/error-authentication.json?raw";
import badInput from "../../fixtures/workers-ai/error-bad-input.json?raw";
import capacity from "../../fixtures/workers-ai/error-capacity.json?raw";
import freeAllocation from "../../fixtures/workers-ai/error-free-allocation.json?raw";
import wire from "../../fixtures/workers-ai/error-wire.json?raw";
import { failureOf, json, KEY } from "../upstream.ts";
import { ask } from "./ask.ts";
import { LLAMA } from "./models.ts";

const failing = async (status: number, body: unknown, headers: Record<string, string> = {}) =>
	(await failureOf(
		ask("text-classification", LLAMA, { text: "a" }, () => json(body, status, headers)).answer,
	)) as AiError;

const envelope = (code: number, message: string) => ({
	errors: [{ code, message }],
	success: false,
	result: {},
});

describe("an error reply", () => {
	it.each([
		["of the input", 400, badInput, "badInput", JSON.parse(badInput).errors[0].message.slice(20), false],
		[
			"for want of room",
			429,
			capacity,
			"outOfCapacity",
			"Capacity temporarily exceeded, please try again.",
			true,
		],
		["by the binding", 400, wire, "jsonModeUnmet", "JSON Model couldn't be met", false],
	])("%s keeps its code and message", async (_, status, body, key, description, retryable) => {
		const failure = await failing(status, body);
		expect(failure).toMatchObject({ key, description, retryable, upstream: { backend: "lab", status } });
	});

	it.each([
		["the day's neurons", 429, freeAllocation, "has used up the daily neurons of its account"],
		["its credentials", 401, authentication, "refused the gateway's credentials"],
		[
			"its plan",
			403,
			envelope(5035, "AiError: x: y"),
			"has an account without the plan that this model needs",
		],
	])("for %s is the operator's, and retryable", async (_, status, body, what) => {
		expect(await failing(status, body)).toMatchObject({
			key: "upstreamUnavailable",
			description: `The backend 'lab' ${what}`,
			retryable: true,
		});
	});

	it.each([
		[3021, "outOfCapacity", "is at the rate limit of its account"],
		[3023, "upstreamUnavailable", "has an account that is blocked"],
		[3036, "upstreamUnavailable", "has used up the daily neurons of its account"],
		[4006, "upstreamUnavailable", "has used up the daily neurons of its account"],
		[3041, "upstreamUnavailable", "has an account that may not use this model"],
		[5016, "upstreamUnavailable", "has an account that has not agreed to this model's terms"],
		[5018, "upstreamUnavailable", "has an account that may not use this model"],
		[5035, "upstreamUnavailable", "has an account without the plan that this model needs"],
		[1031, "upstreamUnavailable", "refused the gateway's credentials"],
		[9109, "upstreamUnavailable", "refused the gateway's credentials"],
		[10000, "upstreamUnavailable", "refused the gateway's credentials"],
	])("with %i is %s: it %s", async (code, key, problem) => {
		expect(await failing(400, envelope(code, "AiError: x: y"))).toMatchObject({
			key,
			description: `The backend 'lab' ${problem}`,
			retryable: true,
			upstream: { backend: "lab", status: 400 },
		});
	});

	it.each([3042, 5007, 7000, 7002, 7003])("with %i is retryable", async (code) => {
		expect(await failing(400, envelope(code, "x"))).toMatchObject({ key: "noSuchModel", retryable: true });
	});

	it("for the account's rate limit is outOfCapacity, with retry-after", async () => {
		const body = envelope(3021, "AiError: AiError: rate limiting: inference request per min rate reached");
		expect(await failing(429, body, { "retry-after": "9" })).toMatchObject({
			key: "outOfCapacity",
			retryable: true,
			retryAfter: 9,
		});
	});

	it.each([
		[404, 7000, "No route for that URI"],
		[400, 5007, "AiError: No such model: No such model a or task (1d2b1f3e-95a5-4f0e-8a3a-6c0b8a1c2d3e)"],
	])("%i with %i means that the backend lacks the model", async (status, code, message) => {
		expect(await failing(status, envelope(code, message))).toMatchObject({
			key: "noSuchModel",
			description: `No such model ${LLAMA} or task: the backend 'lab' has no model '${LLAMA}'`,
			retryable: true,
		});
	});

	it.each([
		["over REST", (message: string) => ({ ...envelope(7003, message), result: null })],
		[
			"over the binding",
			(message: string) => ({
				...{ success: false, result: [], messages: [], error: [{ code: 7003, message }] },
				...{ name: "AiGatewayError", httpCode: 400, internalCode: 7003 },
				...{ message: "User Input Error", description: "User Input Error" },
			}),
		],
	])("400 with 7003 about the inputs of a provider's model is 8001 with the field %s", async (_, bodyOf) => {
		const message = "Model execution failed (User Input Error): max_tokens: Field required";
		expect(await failing(400, bodyOf(message))).toMatchObject({
			...{ key: "invalidInput", code: 8001, description: "Invalid input: max_tokens: Field required" },
			...{ retryable: false, upstream: { backend: "lab", status: 400 } },
		});
	});

	it.each([
		[400, "Model not found: acme/User Input Error"],
		[404, "Model execution failed (User Input Error): max_tokens: Field required"],
	])("%i with 7003 is an unknown model if it says %j", async (status, message) => {
		expect(await failing(status, envelope(7003, message))).toMatchObject({
			key: "noSuchModel",
			retryable: true,
		});
	});

	it("over the binding has its own description, not that of the list", async () => {
		const sent = { internalCode: 8001, description: "top_k is too large" };
		expect(await failing(400, { ...sent, error: [{ code: 8001, message: "other" }] })).toMatchObject({
			key: "invalidInput",
			description: "top_k is too large",
		});
	});

	it("for a deprecated model is retryable", async () => {
		const message = `AiError: Model has been deprecated: ${LLAMA} was deprecated on 2026-01-01.`;
		expect(await failing(410, envelope(5028, message))).toMatchObject({
			key: "deprecatedModel",
			description: `${LLAMA} was deprecated on 2026-01-01.`,
			retryable: true,
		});
	});

	it.each([
		["AiError: Ai: This account…", "This account…"],
		["AiError: Bad input: Error: a: b", "Error: a: b"],
		["AiError: Something: else", "Something: else"],
		["plain (not an id)", "plain (not an id)"],
	])("converts the message '%s' to '%s'", async (message, description) => {
		expect(await failing(400, envelope(8001, message))).toMatchObject({ key: "invalidInput", description });
	});

	it("contains no engine internals and no secret", async () => {
		const crash = envelope(5001, "AiError: AiError: cuda error at 0x1");
		expect((await failing(500, crash)).description).toBe(FAILURES.executionFailed.description);
		const leak = envelope(8001, `AiError: AiError: bad key ${KEY}`);
		expect((await failing(400, leak)).description).toBe("bad key [redacted]");
	});

	it.each([
		[400, { errors: [{ code: 123456, message: "?" }] }, "engineRefused"],
		[500, { errors: [] }, "executionFailed"],
		[503, "<html>", "outOfCapacity"],
	])("%i without a known code is mapped by its status", async (status, body, key) => {
		expect(await failing(status, body)).toMatchObject({ key });
	});

	it("is read inside a reply with a good status", async () => {
		expect(await failing(200, envelope(3040, "AiError: Out of capacity: full"))).toMatchObject({
			key: "outOfCapacity",
			upstream: { backend: "lab" },
		});
	});
});
