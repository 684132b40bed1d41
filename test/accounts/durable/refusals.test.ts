import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import type { Budget } from "../../../src/accounts/admission.ts";
import type { Account } from "../../../src/accounts/durable/account.ts";
import {
	admission,
	callsTo,
	fixedCost,
	MIDNIGHT,
	newAccount,
	stubOf,
	TASK,
	withLedger,
} from "../fixtures.ts";

const NONE: Budget = { key: "account", microNeurons: 0, failure: "freeAllocationUsed" };
const refused = () => admission({ budgets: [NONE], cost: fixedCost(1) });

describe("refusals", () => {
	it("are counted by day, code, task and token", () =>
		withLedger((bench) => {
			const { ledger } = bench;
			const token = { id: "t", limits: { dailyMicroNeurons: 10 } };
			ledger.admit(refused());
			ledger.admitAll([
				{ admission: refused(), token },
				{ admission: refused(), token },
				{ admission: admission(), token },
			]);
			ledger.admit(admission({ unpriced: true }), token);
			ledger.admit(admission({ cost: fixedCost(11), task: "Text Embeddings" }), token);
			bench.time = MIDNIGHT;
			ledger.admit(admission({ rates: [{ key: "model:m", perMinute: 0 }] }));
			const [first, second] = ["2026-11-21", "2026-11-22"];
			expect(ledger.refusals.report({ by: ["token", "task", "code", "day"] })).toEqual({
				rows: [
					{ day: first, code: 2021, task: TASK, token: "t", requests: 1 },
					{ day: first, code: 3036, task: "Text Embeddings", token: "t", requests: 1 },
					{ day: first, code: 4006, task: TASK, token: "", requests: 1 },
					{ day: first, code: 4006, task: TASK, token: "t", requests: 2 },
					{ day: second, code: 3021, task: TASK, token: "", requests: 1 },
				],
				requests: 6,
				truncated: false,
			});
			expect(ledger.refusals.report({ by: ["code"], token: "t", to: first, task: TASK })).toMatchObject({
				rows: [
					{ code: 2021, requests: 1 },
					{ code: 4006, requests: 2 },
				],
			});
			expect(ledger.refusals.report({ by: [], from: second }).rows).toEqual([{ requests: 1 }]);
			expect(ledger.usage({ by: [] }).total.requests).toBe(0);
		}));

	it("are deleted after 400 days", () =>
		withLedger((bench) => {
			const { refusals } = bench.ledger;
			bench.ledger.admit(refused());
			refusals.write();
			expect(refusals.nextExpiry()).toBe(Date.parse("2027-12-27T00:00:00Z"));
			refusals.deleteExpired(Date.parse("2027-12-26T23:59:59Z"));
			expect(refusals.report({ by: [] }).requests).toBe(1);
			refusals.deleteExpired(Date.parse("2027-12-27T00:00:00Z"));
			expect(refusals.report({ by: [] }).requests).toBe(0);
			expect(refusals.nextExpiry()).toBeUndefined();
		}));

	it("do not count hypothetical requests", () =>
		withLedger(({ ledger }) => {
			const { model, cost, budgets, rates, credential } = refused();
			const { answer } = ledger.limitStatus({ credential, budgets, rates, request: { model, cost } });
			expect(answer).toMatchObject({ ok: false });
			expect(ledger.refusals.isPending).toBe(false);
		}));

	it("are written by the sweep in one row, and then survive a restart", () =>
		withLedger((bench) => {
			const changes = () => bench.storage.sql.exec<{ n: number }>("SELECT total_changes() AS n").one().n;
			const before = changes();
			for (let i = 0; i < 100; i++) bench.ledger.admit(refused());
			expect(changes()).toBe(before);
			bench.ledger.sweep();
			expect(changes()).toBe(before + 1);
			bench.ledger.admit(refused());
			bench.restart();
			expect(bench.ledger.refusals.report({ by: [] }).requests).toBe(100);
		}));

	it("are deleted 400 days after their day", () =>
		withLedger((bench) => {
			bench.ledger.admit(refused());
			expect(bench.ledger.sweep()).toBe(MIDNIGHT + 400 * 86_400_000);
			bench.time = MIDNIGHT + 400 * 86_400_000 - 1;
			bench.ledger.sweep();
			expect(bench.ledger.refusals.report({ by: [] }).requests).toBe(1);
			bench.time++;
			expect(bench.ledger.sweep()).toBeUndefined();
			expect(bench.ledger.refusals.report({ by: [] }).requests).toBe(0);
		}));
});

describe("a flood of refused requests", () => {
	it("sets one alarm, which writes the counts before the object is evicted", async () => {
		const account = newAccount();
		const started = Date.now();
		await runInDurableObject(stubOf(account), async (object: Account, { storage }) => {
			const setAlarm = vi.spyOn(storage, "setAlarm");
			for (let i = 0; i < 50; i++) object.call(account, "admitAll", [[refused()], []]);
			expect(setAlarm).toHaveBeenCalledTimes(1);
			const at = (await storage.getAlarm()) ?? 0;
			expect(at).toBeGreaterThanOrEqual(started + 5_000);
			expect(at).toBeLessThanOrEqual(Date.now() + 5_000);
		});
		expect(await runDurableObjectAlarm(stubOf(account))).toBe(true);
		await evictDurableObject(stubOf(account));
		expect((await callsTo(account).refusals({ by: ["code"] })).rows).toEqual([{ code: 4006, requests: 50 }]);
	});

	it("of an unknown token leaves no trace", async () => {
		const account = newAccount();
		const credential = { kind: "token", hash: "0".repeat(64) } as const;
		await callsTo(account).admit(admission({ credential }), []);
		const tables = await runInDurableObject(stubOf(account), (_: Account, { storage }) =>
			storage.sql
				.exec<{ n: number }>("SELECT count(*) AS n FROM sqlite_master WHERE name = 'refusals'")
				.one(),
		);
		expect(tables).toEqual({ n: 0 });
	});
});
