import { describe, expect, it } from "vitest";
import type { Admission, Admitted } from "../../../src/accounts/admission.ts";
import { Leeway } from "../../../src/accounts/client/headroom-cache.ts";
import { admission, fixedCost } from "../ask.ts";

const TEAM = "team-a";
const asked = (fields: Partial<Admission> = {}) => admission({ cost: fixedCost(100), ...fields });
const admitted = (remaining: number, fields: object = {}): Admitted => ({ ok: true, remaining, ...fields });

/** How many may go ahead at once. */
function atOnce(leeway: Leeway, one = asked(), now = 0): number {
	let count = 0;
	while (leeway.take(TEAM, one, now)) count++;
	for (let i = 0; i < count; i++) leeway.release(TEAM);
	return count;
}

describe("Leeway", () => {
	it("knows nothing of an account, a token or a model that it has not heard of", () => {
		const leeway = new Leeway();
		const token = { credential: { kind: "token", hash: "aa" } } as const;
		expect(leeway.take(TEAM, asked(), 0)).toBeUndefined();
		leeway.learn(TEAM, asked(token), admitted(1_000), 0);
		expect(leeway.take(TEAM, asked(token), 0)).toEqual({});
		expect(leeway.take(TEAM, asked(), 0)).toBeUndefined();
		expect(leeway.take(TEAM, asked({ credential: { kind: "token", hash: "bb" } }), 0)).toBeUndefined();
		expect(leeway.take(TEAM, asked({ ...token, model: "@cf/another/model" }), 0)).toBeUndefined();
		expect(leeway.take("team-b", asked(token), 0)).toBeUndefined();
	});

	it("lets a small part of the room go ahead at once, and again what was answered", () => {
		const leeway = new Leeway();
		leeway.learn(TEAM, asked(), admitted(80), 0);
		expect(atOnce(leeway)).toBe(10);
		leeway.take(TEAM, asked(), 0);
		expect(atOnce(leeway)).toBe(9);
		leeway.release(TEAM);
		expect(atOnce(leeway)).toBe(10);
		leeway.learn(TEAM, asked(), admitted(7), 0);
		expect(atOnce(leeway)).toBe(0);
		leeway.learn(TEAM, asked(), { ok: true }, 0);
		expect(leeway.take(TEAM, asked(), 0)).toBeUndefined();
	});

	it("does not count for ever who never hears an answer", () => {
		const leeway = new Leeway();
		for (let i = 0; i < 10; i++) {
			leeway.learn(TEAM, asked(), admitted(80), i);
			expect(leeway.take(TEAM, asked(), i)).toBeDefined();
		}
		leeway.learn(TEAM, asked(), admitted(80), 9_999);
		expect(atOnce(leeway, asked(), 9_999)).toBe(0);
		leeway.learn(TEAM, asked(), admitted(80), 10_003);
		expect(atOnce(leeway, asked(), 10_003)).toBe(4);
		leeway.learn(TEAM, asked(), admitted(80), 20_003);
		expect(atOnce(leeway, asked(), 20_003)).toBe(10);
	});

	it("counts a dearer request for as many as it costs, and a cheaper one for one", () => {
		const leeway = new Leeway();
		leeway.learn(TEAM, asked(), admitted(80), 0);
		expect(atOnce(leeway, asked({ cost: fixedCost(500) }))).toBe(2);
		expect(atOnce(leeway, asked({ cost: fixedCost(1) }))).toBe(10);
		leeway.learn(TEAM, asked({ cost: fixedCost(0) }), admitted(80), 0);
		expect(atOnce(leeway, asked())).toBe(0);
	});

	it("shares the room of an account among its models", () => {
		const leeway = new Leeway();
		const other = asked({ model: "@cf/another/model" });
		leeway.learn(TEAM, asked(), admitted(80), 0);
		leeway.learn(TEAM, other, admitted(80), 0);
		leeway.take(TEAM, other, 0);
		expect(atOnce(leeway)).toBe(9);
	});

	it("forgets after a second, and at a refusal", () => {
		const leeway = new Leeway();
		leeway.learn(TEAM, asked(), admitted(80), 5);
		expect(atOnce(leeway, asked(), 1_004)).toBe(10);
		expect(atOnce(leeway, asked(), 1_005)).toBe(0);
		leeway.learn(TEAM, asked(), admitted(80), 5);
		leeway.learn(TEAM, asked(), { ok: false, failure: "rateLimited" }, 6);
		expect(atOnce(leeway, asked(), 6)).toBe(0);
	});

	it("expects all the output that is asked for, where a budget bounds it", () => {
		const leeway = new Leeway();
		const chat = asked({
			cost: { fixedMicroNeurons: 1, microNeuronsPerOutputToken: 1, outputTokens: 256, outputUnbounded: true },
		});
		leeway.learn(TEAM, chat, admitted(80, { outputTokens: 256, limited: true }), 0);
		expect(leeway.take(TEAM, { ...chat, cost: { ...chat.cost, outputTokens: 100 } }, 0)).toEqual({
			outputTokens: 100,
			limited: true,
		});
	});

	it("has a bound on accounts whose calls are lost, and on answers", () => {
		const leeway = new Leeway(2);
		for (const account of ["a", "b", "c"]) {
			leeway.learn(account, asked(), admitted(8), 0);
			expect(leeway.take(account, asked(), 0)).toBeDefined();
		}
		expect(leeway.unansweredAccounts).toBe(2);
		expect(leeway.take("a", asked(), 0)).toBeUndefined();
		for (const account of ["a", "b", "c"]) leeway.release(account);
		expect(leeway.unansweredAccounts).toBe(0);
		expect(leeway.take("b", asked(), 0)).toBeDefined();
	});
});
