import { describe, expect, it } from "vitest";
import type { Admission, Admitted } from "../../../src/accounts/admission.ts";
import { HeadroomCache } from "../../../src/accounts/client/headroom-cache.ts";
import { admission, fixedCost } from "../fixtures.ts";

const TEAM = "team-a";
const request = (fields: Partial<Admission> = {}) => admission({ cost: fixedCost(100), ...fields });
const admitted = (remaining: number, fields: object = {}): Admitted => ({ ok: true, remaining, ...fields });

/** How many requests may be speculative at the same time. */
function atOnce(cache: HeadroomCache, one = request(), now = 0): number {
	let count = 0;
	while (cache.reserve(TEAM, one, now)) count++;
	for (let i = 0; i < count; i++) cache.release(TEAM);
	return count;
}

describe("HeadroomCache", () => {
	it("has no headroom for an account, a token or a model without a recorded answer", () => {
		const cache = new HeadroomCache();
		const token = { credential: { kind: "token", hash: "aa" } } as const;
		expect(cache.reserve(TEAM, request(), 0)).toBeUndefined();
		cache.record(TEAM, request(token), admitted(1_000), 0);
		expect(cache.reserve(TEAM, request(token), 0)).toEqual({});
		expect(cache.reserve(TEAM, request(), 0)).toBeUndefined();
		expect(cache.reserve(TEAM, request({ credential: { kind: "token", hash: "bb" } }), 0)).toBeUndefined();
		expect(cache.reserve(TEAM, request({ ...token, model: "@cf/another/model" }), 0)).toBeUndefined();
		expect(cache.reserve("team-b", request(token), 0)).toBeUndefined();
	});

	it("reserves an eighth of the headroom at once, and again after a release", () => {
		const cache = new HeadroomCache();
		cache.record(TEAM, request(), admitted(80), 0);
		expect(atOnce(cache)).toBe(10);
		cache.reserve(TEAM, request(), 0);
		expect(atOnce(cache)).toBe(9);
		cache.release(TEAM);
		expect(atOnce(cache)).toBe(10);
		cache.record(TEAM, request(), admitted(7), 0);
		expect(atOnce(cache)).toBe(0);
		cache.record(TEAM, request(), { ok: true }, 0);
		expect(cache.reserve(TEAM, request(), 0)).toBeUndefined();
	});

	it("does not count lost calls after ten seconds", () => {
		const cache = new HeadroomCache();
		for (let i = 0; i < 10; i++) {
			cache.record(TEAM, request(), admitted(80), i);
			expect(cache.reserve(TEAM, request(), i)).toBeDefined();
		}
		cache.record(TEAM, request(), admitted(80), 9_999);
		expect(atOnce(cache, request(), 9_999)).toBe(0);
		cache.record(TEAM, request(), admitted(80), 10_003);
		expect(atOnce(cache, request(), 10_003)).toBe(4);
		cache.record(TEAM, request(), admitted(80), 20_003);
		expect(atOnce(cache, request(), 20_003)).toBe(10);
	});

	it("counts a more expensive request in proportion to its cost, and a cheaper one as one", () => {
		const cache = new HeadroomCache();
		cache.record(TEAM, request(), admitted(80), 0);
		expect(atOnce(cache, request({ cost: fixedCost(500) }))).toBe(2);
		expect(atOnce(cache, request({ cost: fixedCost(1) }))).toBe(10);
		cache.record(TEAM, request({ cost: fixedCost(0) }), admitted(80), 0);
		expect(atOnce(cache, request())).toBe(0);
	});

	it("shares the headroom of an account among its models", () => {
		const cache = new HeadroomCache();
		const other = request({ model: "@cf/another/model" });
		cache.record(TEAM, request(), admitted(80), 0);
		cache.record(TEAM, other, admitted(80), 0);
		cache.reserve(TEAM, other, 0);
		expect(atOnce(cache)).toBe(9);
	});

	it("drops an answer after a second, and at a refusal", () => {
		const cache = new HeadroomCache();
		cache.record(TEAM, request(), admitted(80), 5);
		expect(atOnce(cache, request(), 1_004)).toBe(10);
		expect(atOnce(cache, request(), 1_005)).toBe(0);
		cache.record(TEAM, request(), admitted(80), 5);
		cache.record(TEAM, request(), { ok: false, failure: "rateLimited" }, 6);
		expect(atOnce(cache, request(), 6)).toBe(0);
	});

	it("expects all of the requested output if a budget limits it", () => {
		const cache = new HeadroomCache();
		const chat = request({
			cost: { fixedMicroNeurons: 1, microNeuronsPerOutputToken: 1, outputTokens: 256, outputUnbounded: true },
		});
		cache.record(TEAM, chat, admitted(80, { outputTokens: 256, limited: true }), 0);
		expect(cache.reserve(TEAM, { ...chat, cost: { ...chat.cost, outputTokens: 100 } }, 0)).toEqual({
			outputTokens: 100,
			limited: true,
		});
	});

	it("bounds the accounts with lost calls, and the answers", () => {
		const cache = new HeadroomCache(2);
		for (const account of ["a", "b", "c"]) {
			cache.record(account, request(), admitted(8), 0);
			expect(cache.reserve(account, request(), 0)).toBeDefined();
		}
		expect(cache.pendingAccounts).toBe(2);
		expect(cache.reserve("a", request(), 0)).toBeUndefined();
		for (const account of ["a", "b", "c"]) cache.release(account);
		expect(cache.pendingAccounts).toBe(0);
		expect(cache.reserve("b", request(), 0)).toBeDefined();
	});
});
