import { describe, expect, it } from "vitest";
import { nativeDialect } from "../../src/dialects/native.ts";
import { headersIn, inferenceRequest } from "../../src/http/request-options.ts";

const requestOf = (headers: Headers, fields?: unknown, account = "a") => {
	const caller = { account, credential: { kind: "operator" as const } };
	const { signal } = new AbortController();
	const sent = { id: "id", caller, model: "m", dialect: nativeDialect, inputs: { fields: {} }, signal };
	return inferenceRequest({ ...sent, headers, fields });
};
const session = (headers: Record<string, string>, fields?: unknown, account?: string) =>
	requestOf(new Headers(headers), fields, account).session;

describe("the session of a request", () => {
	it.each([
		["x-session-affinity", "x-session-id"],
		["x-session-id", "x-claude-code-session-id"],
		["x-claude-code-session-id", "session-id"],
		["session-id", "thread-id"],
		["thread-id", "x-request-id"],
	])("is the header %s, before %s", (first, second) => {
		expect(session({ [second]: "2", [first]: "1" })).toBe("a 1");
	});

	it.each([
		[{ prompt_cache_key: "k" }, "a k"],
		[{ prompt_cache_key: "k", metadata: { user_id: "u" } }, "a k"],
		[{ prompt_cache_key: 1, metadata: { user_id: '{"device_id":"d","session_id":"s"}' } }, "a s"],
		[{ metadata: { user_id: "user_1" } }, "a user_1"],
		[{ metadata: { user_id: '{"device_id":"d"}' } }, 'a {"device_id":"d"}'],
		[{ metadata: { other: "x" } }, undefined],
		["text", undefined],
		[null, undefined],
	])("is in the body %j, after all headers", (fields, expected) => {
		expect(session({}, fields)).toBe(expected);
		expect(session({ "thread-id": "t" }, fields)).toBe("a t");
	});

	it("contains its account, and is truncated", () => {
		expect(session({ "session-id": "s" }, {}, "one")).not.toBe(session({ "session-id": "s" }, {}, "two"));
		expect(session({ "session-id": "s".repeat(1_000) })).toBe(`a ${"s".repeat(256)}`);
	});

	it("is also read from the binding's extraHeaders", () => {
		const headers = headersIn({ "X-Session-Id": "s", "x-ganglion-single-flight": "1", other: "x" });
		expect(requestOf(headers)).toMatchObject({
			session: "a s",
			options: { singleFlight: true },
		});
	});
});
