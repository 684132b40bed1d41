import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../src/backends/gemini/service.ts";
import { TARGET } from "../upstream.ts";

const error = (code: number | undefined, ...details: object[]) => ({ error: { code, details } });
const delayed = (retryDelay: string, code?: number) => error(code, {}, { retryDelay });
const KEY_INVALID = { reason: "API_KEY_INVALID" };

describe("the details of Google's errors", () => {
	it.each([
		["a wait", { status: 429, body: delayed("34.07s") }, "outOfCapacity", 429, 35],
		["a wait in whole seconds", { status: 429, body: delayed("2s") }, "outOfCapacity", 429, 2],
		["a wait of days", { status: 429, body: delayed("100000s") }, "outOfCapacity", 429, 86_400],
		[
			"a header beside the wait",
			{ status: 429, body: delayed("9s"), retryAfter: 3 },
			"outOfCapacity",
			429,
			3,
		],
		["a wait in an event", { body: delayed("9s", 429) }, "outOfCapacity", 429, 9],
		[
			"an invalid key",
			{ status: 400, body: error(400, {}, KEY_INVALID) },
			"upstreamUnavailable",
			400,
			undefined,
		],
		[
			"an unsupported location",
			{
				status: 400,
				body: {
					error: {
						code: 400,
						message: "User location is not supported for the API use.",
						status: "FAILED_PRECONDITION",
					},
				},
			},
			"upstreamUnavailable",
			400,
			undefined,
		],
		[
			"an invalid key without a status",
			{ body: error(undefined, KEY_INVALID) },
			"upstreamUnavailable",
			500,
			undefined,
		],
	])("have %s", (_, refusal, key, status, retryAfter) => {
		const failure = refusalOf(TARGET, refusal);
		expect(failure).toMatchObject({ key, upstream: { backend: "lab", status } });
		expect(failure?.retryAfter).toBe(retryAfter);
	});

	it.each([
		["a wait of another status", { status: 503, body: delayed("9s") }],
		["no wait", { status: 429, body: error(429, { reason: "RATE_LIMIT_EXCEEDED" }) }],
		["a wait that is not a number", { status: 429, body: delayed("soon") }],
		["no details", { status: 429, body: { error: { code: 429 } } }],
		["no error", { status: 400, body: undefined }],
	])("decide nothing with %s", (_, refusal) => {
		expect(refusalOf(TARGET, refusal)).toBeUndefined();
	});
});
