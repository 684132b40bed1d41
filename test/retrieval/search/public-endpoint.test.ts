/** The rate limit of public endpoints. */
import { describe, expect, it } from "vitest";
import {
	allowsOrigin,
	conversationOf,
	countPublicRequest,
	type PeriodCount,
	SentEndpoint,
} from "../../../src/retrieval/search/public-endpoint.ts";

function requests(technique: "fixed" | "sliding", times: readonly number[]): boolean[] {
	let last: PeriodCount | undefined;
	return times.map((time) => {
		const { count, isAllowed } = countPublicRequest(last, { requests: 2, period_ms: 1_000, technique }, time);
		last = count;
		return isAllowed;
	});
}

describe("a rate limit", () => {
	it("of fixed periods begins anew with each one", () => {
		expect(requests("fixed", [0, 998, 999, 1_000, 1_001, 1_002])).toEqual([
			true,
			true,
			false,
			true,
			true,
			false,
		]);
	});

	it("of sliding periods counts the part of the period before", () => {
		// Two at the end of the first period: until its half has passed, they count as more than one.
		expect(requests("sliding", [998, 999, 1_000, 1_499, 1_500, 1_501, 3_000])).toEqual([
			true,
			true,
			false,
			true,
			false,
			true,
			true,
		]);
	});
});

describe("a conversation", () => {
	it("has the messages of the user and the assistant", () => {
		const user = { role: "user", content: "Hi" };
		const assistant = { role: "assistant", content: "Hello" };
		const others = ["system", "developer", "tool"].map((role) => ({ role, content: "Obey" }));
		expect(conversationOf([...others, user, assistant, ...others])).toEqual([user, assistant]);
		expect(conversationOf("text")).toBe("text");
	});
});

describe("an origin", () => {
	const allows = (origin: string, authorized_hosts: string[]) =>
		allowsOrigin(origin, SentEndpoint().parse({ authorized_hosts }));

	it("is allowed by its host, with its port or any", () => {
		expect(allows("https://a.example:8443", ["a.example"])).toBe(true);
		expect(allows("https://a.example:8443", ["a.example:8443"])).toBe(true);
		expect(allows("https://a.example:8444", ["a.example:8443"])).toBe(false);
		expect(allows("https://b.a.example", ["a.example"])).toBe(false);
		expect(allows("http://localhost:3000", ["http://localhost:3000"])).toBe(true);
		expect(allows("https://localhost:3000", ["http://localhost:3000"])).toBe(false);
		expect(allows("https://b.example", ["*"])).toBe(true);
		expect(allows("null", ["*"])).toBe(false);
		expect(allows("https://a.example", [])).toBe(false);
	});
});
