import { afterEach, describe, expect, it, vi } from "vitest";
import { AiError } from "../../src/core/errors.ts";
import { logFailure } from "../../src/telemetry/log.ts";

const lines: string[] = [];
vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
afterEach(() => void lines.splice(0));

const OWN_ERROR = new Error("The collector answered with status 503");

describe("logFailure", () => {
	it("logs the place of a failure, and not its message", () => {
		const cause = new TypeError("Traceback:\n    at prompt 'my secret prompt'\n    at key sk-1");
		logFailure(new AiError("executionFailed", undefined, { cause }), "id-1");
		expect(lines).toHaveLength(1);
		expect(lines[0]).not.toMatch(/secret|sk-1|Traceback/);
		expect(JSON.parse(lines[0] ?? "")).toMatchObject({
			requestId: "id-1",
			code: 5001,
			failure: "executionFailed",
			cause: "TypeError",
			at: expect.arrayContaining([expect.stringContaining("log.test.ts")]),
		});
	});

	it.each([
		{
			title: "the engine and its status, without our stack, if an engine failed",
			error: new AiError("outOfCapacity", undefined, { upstream: { backend: "vllm", status: 503 } }),
			place: { account: "a", model: "@cf/m", backend: "vllm", replica: "gpu-2:8000", attempt: 2 },
			expected: { code: 3040, failure: "outOfCapacity", upstream: { backend: "vllm", status: 503 } },
		},
		{
			title: "the provider of a gateway that cannot be reached, and not its message",
			error: new AiError("providerUnreachable", undefined, {
				cause: new TypeError("connection refused to 10.0.0.1"),
			}),
			place: { account: "a", gateway: "main", provider: "openai", host: "api.openai.com" },
			expected: { code: 2005, failure: "providerUnreachable", cause: "TypeError" },
		},
		{
			title: "the collector of a gateway that fails, and not its message",
			error: new AiError("upstreamUnavailable", undefined, { cause: OWN_ERROR }),
			place: {
				...{ account: "a", gateway: "main", kind: "spans" as const, host: "otlp.example" },
				...{ reason: "failed" as const, status: 503 },
			},
			expected: { code: 7009, failure: "upstreamUnavailable", cause: "Error", at: expect.any(Array) },
		},
	])("logs $title", ({ error, place, expected }) => {
		error.place = place;
		logFailure(error, "id-1", Date.parse("2026-11-22T07:00:00Z"));
		expect(JSON.parse(lines[0] ?? "")).toEqual({
			time: "2026-11-22T07:00:00.000Z",
			...place,
			requestId: "id-1",
			...expected,
		});
	});

	it("has no id in a line of no request", () => {
		logFailure(new AiError("ledgerUnavailable", undefined, { cause: OWN_ERROR }), "");
		expect(JSON.parse(lines[0] ?? "")).not.toHaveProperty("requestId");
	});

	it("logs the engine of an unusable answer", () => {
		const error = new AiError("executionFailed", "no image in the answer");
		const place = { account: "a", model: "@cf/m", backend: "vllm", replica: "gpu-2:8000", attempt: 1 };
		error.place = place;
		logFailure(error, "id-1", 0);
		expect(JSON.parse(lines[0] ?? "")).toEqual({
			time: "1970-01-01T00:00:00.000Z",
			...place,
			requestId: "id-1",
			code: 5001,
			failure: "executionFailed",
		});
	});

	it("logs the account and the object that failed", () => {
		const error = new AiError("ledgerUnavailable", undefined, { cause: new Error("SQLITE_CORRUPT") });
		error.place = { account: "team-a", object: "0".repeat(64) };
		logFailure(error, "id-1");
		expect(JSON.parse(lines[0] ?? "")).toMatchObject({
			code: 7009,
			account: "team-a",
			object: "0".repeat(64),
		});
	});

	it("logs no stack for an invalid request", () => {
		const cause = new SyntaxError("quoted prompt");
		logFailure(new AiError("badInput", "Error: x", { cause }), "id-1", 0);
		expect(lines).toEqual([
			'{"time":"1970-01-01T00:00:00.000Z","requestId":"id-1","code":5006,"failure":"badInput","cause":"SyntaxError"}',
		]);
	});

	it("logs no failure that the caller caused", () => {
		logFailure(new AiError("aborted", undefined, { cause: new Error("left") }), "id");
		logFailure(new AiError("badInput", "Error: x"), "id");
		expect(lines).toEqual([]);
	});
});
