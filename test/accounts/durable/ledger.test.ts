import { describe, expect, it, vi } from "vitest";
import type { Admitted, Budget, Settlement } from "../../../src/accounts/admission.ts";
import {
	admission,
	fixedCost,
	type LedgerBench,
	MIDNIGHT,
	MODEL,
	NOON,
	SECOND,
	settlement,
	TASK,
	withLedger,
} from "../fixtures.ts";

const FREE: Budget = { key: "account", microNeurons: 1_000, failure: "freeAllocationUsed" };
const OPERATOR = { kind: "operator" } as const;

/** Admits a request of this cost, and returns its ticket. */
function reserve(
	{ ledger }: LedgerBench,
	microNeurons: number,
	fields: Parameters<typeof admission>[0] = {},
): string {
	const request = admission({ cost: fixedCost(microNeurons), budgets: [FREE], ...fields });
	expect(ledger.admit(request)).toEqual({ ok: true });
	return request.ticket;
}

const account = ({ ledger }: LedgerBench) => {
	const { day, budgets } = ledger.limitStatus({ credential: OPERATOR, rates: [], budgets: [FREE] });
	const [budget] = budgets;
	return { day, spent: budget?.spentMicroNeurons, reserved: budget?.reservedMicroNeurons };
};

const used = ({ ledger }: LedgerBench) =>
	ledger.usage({ by: ["day"] }).rows.map(({ day, requests, microNeurons }) => [day, requests, microNeurons]);

describe("rates", () => {
	const rates = [{ key: `task:${TASK}`, perMinute: 3 }];
	const admit = ({ ledger }: LedgerBench): Admitted => ledger.admit(admission({ rates }));

	it("give the exact second from which the same request is admitted", () =>
		withLedger((bench) => {
			for (const gap of [0, 7_300, 11_111]) {
				bench.time += gap;
				expect(admit(bench).ok).toBe(true);
			}
			for (const gap of [1, 345, 999]) {
				bench.time += gap;
				const refused = admit(bench);
				if (refused.ok || refused.retryAfter === undefined) throw new Error("admitted");
				expect(refused).toMatchObject({ failure: "rateLimited" });
				const request = bench.time;
				bench.time = request + (refused.retryAfter - 1) * SECOND;
				expect(admit(bench).ok).toBe(false);
				bench.time = request + refused.retryAfter * SECOND;
				expect(admit(bench).ok).toBe(true);
			}
		}));

	it("neither count nor write refused requests", () =>
		withLedger((bench) => {
			for (let i = 0; i < 3; i++) admit(bench);
			bench.time += 59_999;
			const before = bench.storage.sql.exec("SELECT total_changes() AS n").one();
			for (let i = 0; i < 10; i++) expect(admit(bench)).toMatchObject({ ok: false, retryAfter: 1 });
			expect(bench.storage.sql.exec("SELECT total_changes() AS n").one()).toEqual(before);
			expect(bench.ledger.requests({}).requests).toHaveLength(3);
			bench.time += 1;
			for (let i = 0; i < 3; i++) expect(admit(bench).ok).toBe(true);
		}));

	it("are a token's own too", () =>
		withLedger(({ ledger }) => {
			const a = { id: "a", limits: { requestsPerMinute: 1 } };
			const b = { id: "b", limits: { requestsPerMinute: 1 } };
			expect(ledger.admit(admission(), a).ok).toBe(true);
			expect(ledger.admit(admission(), a)).toEqual({
				...{ ok: false, failure: "rateLimited", perMinute: 1, retryAfter: 60 },
				description:
					"rate limiting: inference request per min rate reached: the limit of this token is 1 per minute",
			});
			expect(ledger.admit(admission(), b).ok).toBe(true);
		}));

	it("give no waiting time if they admit no request", () =>
		withLedger(({ ledger }) => {
			const none = admission({ rates: [{ key: "task:x", perMinute: 0 }] });
			const refused = ledger.admit(none);
			expect(refused).toMatchObject({ ok: false, failure: "rateLimited", perMinute: 0 });
			expect(refused).not.toHaveProperty("retryAfter");
		}));
});

describe("budgets", () => {
	it("reserve, then settle the actual cost", () =>
		withLedger((bench) => {
			const ticket = reserve(bench, 700);
			expect(account(bench)).toEqual({ day: "2026-11-21", spent: 0, reserved: 700 });
			bench.ledger.settle([settlement(ticket, { microNeurons: 250 })]);
			expect(account(bench)).toEqual({ day: "2026-11-21", spent: 250, reserved: 0 });
			expect(used(bench)).toEqual([["2026-11-21", 1, 250]]);
		}));

	it("refuse a request that does not fit, until midnight UTC to the second", () =>
		withLedger((bench) => {
			const ticket = reserve(bench, 700);
			bench.time = MIDNIGHT - 90_500;
			const request = admission({ cost: fixedCost(301), budgets: [FREE] });
			// An open request may free a part of the budget at an unknown time.
			expect(bench.ledger.admit(request)).toMatchObject({
				ok: false,
				failure: "budgetReserved",
				retryAfter: 1,
			});
			bench.ledger.settle([settlement(ticket, { microNeurons: 700 })]);
			expect(bench.ledger.admit(request)).toEqual({
				ok: false,
				failure: "freeAllocationUsed",
				retryAfter: 91,
			});
			bench.time = MIDNIGHT - 500;
			expect(bench.ledger.admit(request).ok).toBe(false);
			bench.time = MIDNIGHT + 500;
			expect(bench.ledger.admit(request)).toEqual({ ok: true });
		}));

	it("give midnight for a request that costs exactly a day's budget", () =>
		withLedger((bench) => {
			const ticket = reserve(bench, 1);
			bench.ledger.settle([settlement(ticket, { microNeurons: 1 })]);
			bench.time = MIDNIGHT - 10_000;
			expect(bench.ledger.admit(admission({ cost: fixedCost(1_000), budgets: [FREE] }))).toEqual({
				ok: false,
				failure: "freeAllocationUsed",
				retryAfter: 10,
			});
		}));

	it("name the reservations of running requests if exactly enough is reserved, and ask for another attempt soon", () =>
		withLedger((bench) => {
			const spent = reserve(bench, 400);
			bench.ledger.settle([settlement(spent, { microNeurons: 400 })]);
			reserve(bench, 500);
			bench.time = MIDNIGHT - 10_000;
			const ask = (microNeurons: number) =>
				bench.ledger.admit(admission({ cost: fixedCost(microNeurons), budgets: [FREE] }));
			expect(ask(600)).toEqual({
				ok: false,
				failure: "budgetReserved",
				description:
					"This request may cost 0.0006 neurons; the daily budget of this account is 0.001, of which 0.0001 are left and 0.0005 are reserved by running requests",
				retryAfter: 1,
			});
			expect(ask(601)).toEqual({ ok: false, failure: "freeAllocationUsed", retryAfter: 10 });
		}));

	it("are named if the operator set them, and give no time for a request that costs more than all", () =>
		withLedger(({ ledger }) => {
			const budgets: Budget[] = [
				{ key: `model:${MODEL}`, microNeurons: 2_000_000, failure: "budgetExceeded" },
			];
			expect(ledger.admit(admission({ cost: fixedCost(2_500_000), budgets }))).toEqual({
				ok: false,
				failure: "budgetExceeded",
				description: `This request may cost 2.5 neurons; the daily budget of model ${MODEL} is 2, of which 2 are left`,
			});
		}));

	it("are a token's own too", () =>
		withLedger(({ ledger }) => {
			const token = { id: "a", limits: { dailyMicroNeurons: 1_000_000 } };
			expect(ledger.admit(admission({ cost: fixedCost(900_000) }), token)).toEqual({
				ok: true,
				limited: true,
			});
			expect(ledger.admit(admission({ cost: fixedCost(200_000) }), token)).toEqual({
				ok: false,
				failure: "budgetReserved",
				retryAfter: 1,
				description:
					"This request may cost 0.2 neurons; the daily budget of this token is 1, of which 0.1 are left and 0.9 are reserved by running requests",
			});
			expect(ledger.admit(admission({ cost: fixedCost(200_000) }), { ...token, id: "b" }).ok).toBe(true);
		}));

	it("of a token refuse a model without a known price", () =>
		withLedger(({ ledger }) => {
			const limited = { id: "a", limits: { dailyMicroNeurons: 1_000_000 } };
			const unlimited = { id: "b", limits: { requestsPerMinute: 5 } };
			const monthly = { id: "c", limits: { monthlyMicroNeurons: 1_000_000 } };
			expect(ledger.admit(admission({ unpriced: true }), monthly)).toMatchObject({
				failure: "missingProviderKey",
			});
			const unpriced = () => admission({ model: "openai/gpt-next", unpriced: true });
			expect(ledger.admit(unpriced(), limited)).toEqual({
				ok: false,
				failure: "missingProviderKey",
				description:
					'Insufficient AI Gateway credits: the token has a budget of neurons, and openai/gpt-next has no price (set BACKENDS.{name}.price or MODELS["openai/gpt-next"].prices)',
			});
			expect(ledger.admit(unpriced(), unlimited)).toEqual({ ok: true });
			expect(ledger.admit(unpriced())).toEqual({ ok: true });
			expect(ledger.admit(admission(), limited)).toEqual({ ok: true, limited: true });
		}));

	it("and rates that both refuse give the longer wait", () =>
		withLedger((bench) => {
			const rates = [{ key: "task:x", perMinute: 1 }];
			const ticket = reserve(bench, 1_000, { rates });
			bench.ledger.settle([settlement(ticket, { microNeurons: 1_000 })]);
			const request = admission({ rates, budgets: [FREE], cost: fixedCost(1) });
			expect(bench.ledger.admit(request)).toMatchObject({
				failure: "freeAllocationUsed",
				retryAfter: 12 * 3600,
			});
			bench.time = MIDNIGHT - 20_000;
			expect(bench.ledger.admit(admission({ rates })).ok).toBe(true);
			expect(bench.ledger.admit(request)).toMatchObject({ failure: "rateLimited", retryAfter: 60 });
		}));

	it("book the actual cost if an engine generated more than its limit, and have nothing remaining then", () =>
		withLedger((bench) => {
			const ticket = reserve(bench, 900);
			bench.ledger.settle([settlement(ticket, { microNeurons: 1_200 })]);
			expect(account(bench)).toMatchObject({ spent: 1_200, reserved: 0 });
			expect(bench.ledger.usage({ by: [] }).total).toMatchObject({ overruns: 1, microNeurons: 1_200 });
			const status = bench.ledger.limitStatus({ credential: OPERATOR, rates: [], budgets: [FREE] });
			expect(status.budgets[0]?.remainingMicroNeurons).toBe(0);
		}));

	it("give a request the output that they pay for", () =>
		withLedger(({ ledger }) => {
			const open = {
				fixedMicroNeurons: 100,
				microNeuronsPerOutputToken: 10,
				outputTokens: 500,
				outputUnbounded: true,
			};
			expect(ledger.admit(admission({ cost: open, budgets: [FREE] }))).toEqual({
				ok: true,
				outputTokens: 90,
			});
			expect(ledger.admit(admission({ cost: open, budgets: [FREE] })).ok).toBe(false);
			expect(ledger.admit(admission({ cost: open }))).toEqual({ ok: true });
		}));
});

describe("midnight UTC", () => {
	it("starts a day with the complete budget; earlier reservations settle on their own day", () =>
		withLedger((bench) => {
			bench.time = MIDNIGHT - 1;
			const late = reserve(bench, 900);
			bench.time = MIDNIGHT;
			expect(account(bench)).toEqual({ day: "2026-11-22", spent: 0, reserved: 0 });
			const early = reserve(bench, 1_000);
			bench.ledger.settle([settlement(late, { microNeurons: 800 })]);
			expect(account(bench)).toEqual({ day: "2026-11-22", spent: 0, reserved: 1_000 });
			bench.ledger.settle([settlement(early, { microNeurons: 5 })]);
			expect(used(bench)).toEqual([
				["2026-11-21", 1, 800],
				["2026-11-22", 1, 5],
			]);
		}));

	it("is crossed by a reservation that is never settled, also after a restart", () =>
		withLedger((bench) => {
			bench.time = MIDNIGHT - 1;
			reserve(bench, 900, { holdMs: 1_000 });
			bench.time = MIDNIGHT + 10_000;
			bench.restart();
			expect(account(bench)).toEqual({ day: "2026-11-22", spent: 0, reserved: 0 });
			bench.ledger.expire();
			expect(used(bench)).toEqual([["2026-11-21", 1, 900]]);
			expect(account(bench)).toEqual({ day: "2026-11-22", spent: 0, reserved: 0 });
		}));

	it("keeps a reservation of the next day that a clock ahead made", () =>
		withLedger((bench) => {
			const log = vi.spyOn(console, "error").mockImplementation(() => {});
			bench.time = MIDNIGHT + 3_600_000;
			const ticket = reserve(bench, 700);
			bench.time = NOON;
			expect(account(bench)).toEqual({ day: "2026-11-21", spent: 0, reserved: 0 });
			log.mockRestore();
			bench.time = MIDNIGHT + 1;
			expect(account(bench)).toEqual({ day: "2026-11-22", spent: 0, reserved: 700 });
			bench.ledger.settle([settlement(ticket, { microNeurons: 300 })]);
			expect(account(bench)).toEqual({ day: "2026-11-22", spent: 300, reserved: 0 });
		}));
});

describe("a monthly budget", () => {
	const MONTH: Budget = { key: "account", period: "month", microNeurons: 1_000, failure: "budgetExceeded" };
	const month = ({ ledger }: LedgerBench) => {
		const [budget] = ledger.limitStatus({ credential: OPERATOR, rates: [], budgets: [MONTH] }).budgets;
		return [budget?.spentMicroNeurons, budget?.reservedMicroNeurons, budget?.remainingMicroNeurons];
	};
	const DAY_SECONDS = 24 * 3600;

	it("counts all days of a UTC month, also after a restart, and refuses until the next month", () =>
		withLedger((bench) => {
			bench.ledger.settle([settlement(reserve(bench, 600), { microNeurons: 600 })]);
			bench.time = MIDNIGHT + 1_000;
			reserve(bench, 300);
			bench.restart();
			expect(month(bench)).toEqual([600, 300, 100]);
			expect(account(bench)).toEqual({ day: "2026-11-22", spent: 0, reserved: 300 });
			const request = () => admission({ cost: fixedCost(401), budgets: [FREE, MONTH] });
			expect(bench.ledger.admit(request())).toMatchObject({ ok: false, failure: "budgetExceeded" });
			bench.ledger.expire();
			bench.time = Date.UTC(2026, 10, 30, 23, 59, 59);
			bench.ledger.expire();
			expect(month(bench)).toEqual([900, 0, 100]);
			expect(bench.ledger.admit(request())).toMatchObject({ ok: false, retryAfter: 1 });
			bench.time += SECOND;
			expect(month(bench)).toEqual([0, 0, 1_000]);
			expect(bench.ledger.admit(request())).toEqual({ ok: true });
		}));

	it("is a token's own too, also after a restart", () =>
		withLedger((bench) => {
			const token = { id: "a", limits: { dailyMicroNeurons: 900, monthlyMicroNeurons: 1_000 } };
			const ask = (neurons: number, id = "a") =>
				bench.ledger.admit(admission({ cost: fixedCost(neurons) }), { ...token, id });
			expect(ask(600)).toEqual({ ok: true, limited: true });
			bench.ledger.expire();
			bench.time = MIDNIGHT + 1_000;
			bench.restart();
			bench.ledger.expire();
			expect(ask(401)).toMatchObject({
				ok: false,
				failure: "budgetExceeded",
				description:
					"This request may cost 0.000401 neurons; the monthly budget of this token is 0.001, of which 0.0004 are left",
			});
			expect(ask(401, "b").ok).toBe(true);
			expect(ask(400).ok).toBe(true);
		}));

	it("gives the end of the month, not of the day", () =>
		withLedger((bench) => {
			bench.ledger.settle([settlement(reserve(bench, 1_000), { microNeurons: 1_000 })]);
			bench.time = MIDNIGHT;
			const refused = bench.ledger.admit(admission({ cost: fixedCost(1), budgets: [FREE, MONTH] }));
			expect(refused).toMatchObject({ ok: false, retryAfter: 9 * DAY_SECONDS });
		}));
});

describe("a clock that goes back", () => {
	it("opens no window early, and gives the real waiting time", () =>
		withLedger((bench) => {
			const request = () => admission({ rates: [{ key: "task:x", perMinute: 1 }] });
			expect(bench.ledger.admit(request()).ok).toBe(true);
			bench.time = NOON - 240_000;
			const retryAfter = 240 + 60;
			expect(bench.ledger.admit(request())).toMatchObject({ ok: false, retryAfter });
			bench.restart();
			expect(bench.ledger.admit(request())).toMatchObject({ ok: false, retryAfter });
			bench.time += retryAfter * SECOND;
			expect(bench.ledger.admit(request()).ok).toBe(true);
		}));

	it("does not return to a spent day", () =>
		withLedger((bench) => {
			bench.time = MIDNIGHT;
			const ticket = reserve(bench, 1_000);
			bench.ledger.settle([settlement(ticket, { microNeurons: 1_000 })]);
			bench.time = MIDNIGHT - 1;
			const request = admission({ cost: fixedCost(1), budgets: [FREE] });
			expect(bench.ledger.admit(request)).toMatchObject({ ok: false, retryAfter: 24 * 3600 + 1 });
			bench.restart();
			expect(account(bench)).toEqual({ day: "2026-11-22", spent: 1_000, reserved: 0 });
		}));
});

describe("settlement", () => {
	it("counts once: the first one", () =>
		withLedger((bench) => {
			const ticket = reserve(bench, 700);
			const first = settlement(ticket, { microNeurons: 100 });
			bench.ledger.settle([first, settlement(ticket, { microNeurons: 200 })]);
			bench.ledger.settle([settlement(ticket, { microNeurons: 300, outcome: "interrupted" })]);
			bench.restart();
			bench.ledger.settle([first]);
			expect(used(bench)).toEqual([["2026-11-21", 1, 100]]);
			expect(account(bench)).toMatchObject({ spent: 100, reserved: 0 });
		}));

	it("of an unknown ticket is ignored", () =>
		withLedger((bench) => {
			bench.ledger.settle([settlement(crypto.randomUUID(), { microNeurons: 5 })]);
			expect(used(bench)).toEqual([]);
		}));

	it("of a failure bills nothing", () =>
		withLedger((bench) => {
			const ticket = reserve(bench, 700);
			bench.ledger.settle([settlement(ticket, { outcome: "failed", microNeurons: 9, code: 3040 })]);
			expect(account(bench)).toMatchObject({ spent: 0, reserved: 0 });
			expect(bench.ledger.usage({ by: [] }).total).toMatchObject({ requests: 1, failed: 1, microNeurons: 0 });
			expect(bench.ledger.requests({}).requests[0]).toMatchObject({ outcome: "failed", code: 3040 });
		}));

	it("with invalid counts does not prevent the booking of others", () =>
		withLedger((bench) => {
			const [odd, negative, sane] = [reserve(bench, 300), reserve(bench, 200), reserve(bench, 100)];
			bench.ledger.settle([
				settlement(odd, { microNeurons: Number.NaN, inputTokens: Number.NaN, latencyMs: 1.5 }),
				settlement(negative, { microNeurons: -1, outputTokens: -7 }),
				settlement(sane, { microNeurons: 10, inputTokens: 4, outputTokens: 6 }),
			]);
			expect(bench.ledger.usage({ by: [] }).total).toEqual({
				requests: 3,
				failed: 0,
				overruns: 0,
				inputTokens: 4,
				cachedTokens: 0,
				outputTokens: 6,
				microNeurons: 510,
				// 2, 10 and 10; 4 each.
				answered: 3,
				latencyMs: 22,
				firstTokenMs: 12,
			});
		}));

	it("counts in the averages only with a part of an answer, and equally on all days", () =>
		withLedger((bench) => {
			const settleOn = (time: number, ends: Partial<Settlement>[]) => {
				bench.time = time;
				const tickets = ends.map(() => reserve(bench, 1));
				bench.ledger.settle(ends.map((end, i) => ({ ...settlement(tickets[i] ?? ""), ...end })));
			};
			const { firstTokenMs: _, ...unbegun } = settlement("");
			settleOn(NOON, [
				{ latencyMs: 100, firstTokenMs: 20 },
				{ outcome: "interrupted", latencyMs: 300, firstTokenMs: 40 },
				{ outcome: "failed", latencyMs: 5_000, firstTokenMs: 900 },
			]);
			bench.ledger.settle(
				(["cancelled", "interrupted", "failed"] as const).map((outcome) => ({
					...unbegun,
					outcome,
					ticket: reserve(bench, 1),
					latencyMs: 60_000,
				})),
			);
			settleOn(MIDNIGHT, [{ outcome: "cancelled", latencyMs: 1_100, firstTokenMs: 600 }]);
			const times = { requests: 7, answered: 3, latencyMs: 1_500, firstTokenMs: 660 };
			expect(bench.ledger.usage({ by: [] }).total).toMatchObject(times);
			const days = bench.ledger.usage({ by: ["day"] }).rows;
			expect(days.map((day) => [day.answered, day.latencyMs, day.firstTokenMs])).toEqual([
				[2, 400, 60],
				[1, 1_100, 600],
			]);
		}));

	it("is reported together with rows whose sum is above 2^63", () =>
		withLedger((bench) => {
			const ticket = reserve(bench, 100);
			bench.ledger.settle([settlement(ticket, { microNeurons: 10 })]);
			for (const model of ["@cf/a/a", "@cf/b/b"])
				bench.storage.sql.exec(
					"INSERT INTO usage VALUES (1, '2026-11-21', ?, 'Text Generation', '', 'engine', 1, 0, 0, 0, 0, 5000000000000, 5000000000000000000, 0, 0, 0)",
					model,
				);
			expect(bench.ledger.usage({ by: [] }).total).toMatchObject({ requests: 3, microNeurons: 1e19 });
			expect(bench.ledger.usage({ by: ["model"] }).rows).toHaveLength(3);
		}));

	it("of many requests with one key deletes their rows, and writes one segment and one row of usage", () =>
		withLedger((bench) => {
			const tickets = Array.from({ length: 50 }, () => reserve(bench, 10));
			const before = changes(bench);
			bench.ledger.settle(tickets.map((ticket) => settlement(ticket, { microNeurons: 1 })));
			expect(changes(bench) - before).toBe(52);
			expect(used(bench)).toEqual([["2026-11-21", 50, 50]]);
		}));

	it("is written completely or not at all", () =>
		withLedger((bench) => {
			const ticket = reserve(bench, 700);
			bench.storage.sql.exec("ALTER TABLE usage RENAME TO elsewhere");
			expect(() => bench.ledger.settle([settlement(ticket, { microNeurons: 100 })])).toThrow(/usage/);
			bench.storage.sql.exec("ALTER TABLE elsewhere RENAME TO usage");
			expect(account(bench)).toMatchObject({ spent: 0, reserved: 700 });
			expect(bench.ledger.requests({}).requests[0]?.outcome).toBe("open");
			bench.ledger.settle([settlement(ticket, { microNeurons: 100 })]);
			expect(account(bench)).toMatchObject({ spent: 100, reserved: 0 });
		}));
});

describe("admission", () => {
	it.each([1, 2])("of a batch with %i admitted requests survives a restart", (count) =>
		withLedger((bench) => {
			const rates = [{ key: "task:Text Generation", perMinute: count }];
			const batch = Array.from({ length: 3 }, () => ({ admission: admission({ rates }), token: undefined }));
			const passed = bench.ledger.admitAll(batch).map(({ ok }) => ok);
			expect(passed).toEqual([true, count === 2, false]);
			bench.restart();
			const expiries = batch.map(({ admission: { ticket } }) => bench.ledger.expiryOf(ticket));
			expect(expiries).toEqual([NOON + 600_000, count === 2 ? NOON + 600_000 : undefined, undefined]);
		}),
	);

	it("writes one row", () =>
		withLedger((bench) => {
			reserve(bench, 1);
			const before = changes(bench);
			reserve(bench, 1, { rates: [{ key: "task:x", perMinute: 5 }] });
			expect(changes(bench) - before).toBe(1);
		}));

	it("is listed, 50 to a page by default, and at most 100", () =>
		withLedger(({ ledger }) => {
			for (let i = 0; i < 101; i++) ledger.admit(admission());
			for (const [limit, listed] of [
				[undefined, 50],
				[50.9, 50],
				[100, 100],
				[101, 100],
				[0, 1],
			] as const) {
				const { requests, cursor } = ledger.requests({ ...(limit !== undefined && { limit }) });
				expect(requests).toHaveLength(listed);
				expect(cursor).toBeDefined();
			}
		}));

	it("of an open ticket throws, and reserves nothing twice", () =>
		withLedger((bench) => {
			const ticket = reserve(bench, 10);
			expect(() => bench.ledger.admit(admission({ ticket, cost: fixedCost(10) }))).toThrow(ticket);
			expect(account(bench)).toMatchObject({ reserved: 10 });
		}));
});

describe("expiry", () => {
	it("charges the reservation of a request that is not settled in time, and not before", () =>
		withLedger((bench) => {
			const late = reserve(bench, 300, { holdMs: 5_000 });
			const slow = reserve(bench, 200, { holdMs: 9_000 });
			expect(bench.ledger.nextExpiry()).toBe(NOON + 5_000);
			bench.time += 4_999;
			bench.ledger.expire();
			expect(account(bench)).toMatchObject({ spent: 0, reserved: 500 });
			bench.time += 1;
			bench.ledger.expire();
			expect(account(bench)).toMatchObject({ spent: 300, reserved: 200 });
			expect(bench.ledger.requests({ outcome: "expired" }).requests).toEqual([
				expect.objectContaining({
					ticket: late,
					microNeurons: 300,
					estimated: true,
					inputTokens: 0,
					cachedTokens: 0,
					outputTokens: 0,
					backend: "",
					attempts: 0,
					settledAt: NOON + 5_000,
				}),
			]);
			expect(bench.ledger.expiryOf(slow)).toBe(NOON + 9_000);
		}));

	describe("of a request whose process is late", () => {
		const expire = (bench: LedgerBench): string => {
			const ticket = reserve(bench, 300, { holdMs: 5_000 });
			bench.time += 5_000;
			bench.ledger.expire();
			return ticket;
		};

		it("is replaced by the settlement, once: in the record, in the usage and in the budgets", () =>
			withLedger((bench) => {
				const ticket = expire(bench);
				bench.time += 1_000;
				const late = settlement(ticket, { microNeurons: 120, backend: "engine", outputTokens: 7 });
				bench.ledger.settle([late, settlement(ticket, { microNeurons: 1 })]);
				bench.ledger.settle([settlement(ticket, { microNeurons: 2 })]);
				const replaced = (): void => {
					expect(account(bench)).toMatchObject({ spent: 120, reserved: 0 });
					expect(bench.ledger.usage({ by: ["backend"] }).rows).toEqual([
						expect.objectContaining({ backend: "engine", requests: 1, microNeurons: 120, outputTokens: 7 }),
					]);
					expect(bench.ledger.requests({}).requests).toEqual([
						expect.objectContaining({ ticket, outcome: "ok", microNeurons: 120, settledAt: NOON + 6_000 }),
					]);
				};
				replaced();
				bench.restart();
				replaced();
			}));

		it("is replaced together with the others of a call, in one segment", () =>
			withLedger((bench) => {
				const tickets = [1, 2, 3].map(() => reserve(bench, 100, { holdMs: 5_000 }));
				bench.time += 5_000;
				bench.ledger.expire();
				bench.ledger.settle(tickets.map((ticket) => settlement(ticket, { microNeurons: 120 })));
				const segments = bench.storage.sql.exec("SELECT requests FROM segments").toArray();
				expect(segments).toEqual([{ requests: 3 }]);
			}));

		it("is free if no engine answered", () =>
			withLedger((bench) => {
				const ticket = expire(bench);
				bench.ledger.settle([settlement(ticket, { outcome: "failed", microNeurons: 0 })]);
				expect(account(bench)).toMatchObject({ spent: 0, reserved: 0 });
				expect(bench.ledger.usage({ by: [] }).total).toMatchObject({
					requests: 1,
					failed: 1,
					microNeurons: 0,
				});
			}));

		it("is replaced also after an eviction of the object", () =>
			withLedger((bench) => {
				const ticket = expire(bench);
				bench.restart();
				bench.ledger.settle([settlement(ticket, { microNeurons: 120 })]);
				expect(account(bench)).toMatchObject({ spent: 120, reserved: 0 });
				expect(bench.ledger.requests({}).requests).toMatchObject([{ ticket, outcome: "ok" }]);
			}));

		it("is that of the day of the admission, also after midnight", () =>
			withLedger((bench) => {
				bench.time = MIDNIGHT - 1_000;
				const ticket = expire(bench);
				expect(account(bench)).toMatchObject({ spent: 0, reserved: 0 });
				bench.ledger.settle([settlement(ticket, { microNeurons: 120 })]);
				expect(account(bench)).toMatchObject({ spent: 0, reserved: 0 });
				expect(used(bench)).toEqual([["2026-11-21", 1, 120]]);
			}));

		it("is final for the oldest of more than 1,000", () =>
			withLedger((bench) => {
				const tickets = Array.from({ length: 1_001 }, () =>
					reserve(bench, 2, { holdMs: 5_000, budgets: [] }),
				);
				bench.time += 5_000;
				bench.ledger.expire();
				bench.ledger.settle(tickets.map((ticket) => settlement(ticket, { microNeurons: 1 })));
				const { requests } = bench.ledger.requests({ outcome: "expired" });
				expect(requests.map(({ ticket }) => ticket)).toEqual(tickets.slice(0, 1));
				expect(used(bench)).toEqual([["2026-11-21", 1_001, 1_002]]);
			}));

		it("is a row of the table of open requests only as long as it may be replaced", () =>
			withLedger((bench) => {
				const rows = (): unknown => bench.storage.sql.exec("SELECT count(*) AS n FROM requests").one().n;
				const expired: string[] = [];
				for (const count of [3, 2_000, 5]) {
					for (let i = 0; i < count; i++) expired.push(reserve(bench, 2, { holdMs: 5_000, budgets: [] }));
					bench.time += 5_000;
					bench.ledger.expire();
					expect(rows()).toBe(Math.min(1_000, expired.length));
					bench.restart();
				}
				const times = new Map<string, number | undefined>();
				let listed = 0;
				for (let cursor: number | undefined; ; ) {
					const page = bench.ledger.requests({ limit: 100, ...(cursor !== undefined && { cursor }) });
					for (const { ticket, settledAt } of page.requests) times.set(ticket, settledAt);
					listed += page.requests.length;
					cursor = page.cursor;
					if (cursor === undefined) break;
				}
				expect([listed, times.size]).toEqual([2_008, 2_008]);
				expect([0, 3, 2_003].map((i) => times.get(expired[i] ?? ""))).toEqual([
					...[NOON + 5_000, NOON + 10_000, NOON + 15_000],
				]);
				// The latest 1,000.
				bench.ledger.settle([1_007, 1_008].map((i) => settlement(expired[i] ?? "", { microNeurons: 1 })));
				expect(used(bench)).toEqual([["2026-11-21", 2_008, 2 * 2_008 - 1]]);
			}));

		it("is kept for 7 days, also if the request was admitted before them", () =>
			withLedger((bench) => {
				const DAY = 86_400_000;
				const ticket = reserve(bench, 300, { holdMs: 8 * DAY });
				bench.time += 8 * DAY;
				bench.ledger.expire();
				expect(bench.ledger.sweep()).toBe(NOON + 15 * DAY);
				expect(bench.ledger.requests({}).requests).toMatchObject([{ ticket, outcome: "expired" }]);
				bench.restart();
				bench.ledger.settle([settlement(ticket, { microNeurons: 120 })]);
				expect(used(bench)).toEqual([["2026-11-21", 1, 120]]);
			}));
	});
});

describe("sweep", () => {
	const DAY = 86_400_000;
	const rows = ({ storage }: LedgerBench, table: string): unknown =>
		storage.sql.exec(`SELECT count(*) AS n FROM ${table}`).one().n;
	const settledRows = ({ storage }: LedgerBench): unknown =>
		storage.sql.exec("SELECT coalesce(sum(requests), 0) AS n FROM segments").one().n;

	it("deletes settled requests after 7 days and usage after 400, and returns the next time", () =>
		withLedger((bench) => {
			const settled = reserve(bench, 1);
			const open = reserve(bench, 1, { holdMs: 30 * DAY });
			bench.ledger.settle([settlement(settled, { microNeurons: 1 })]);
			expect(bench.ledger.sweep()).toBe(NOON + 7 * DAY);
			bench.time = NOON + 7 * DAY - 1;
			bench.ledger.sweep();
			expect([rows(bench, "requests"), settledRows(bench)]).toEqual([1, 1]);
			bench.time += 1;
			expect(bench.ledger.sweep()).toBe(MIDNIGHT + 400 * DAY);
			expect(bench.ledger.requests({}).requests.map(({ ticket }) => ticket)).toEqual([open]);
			expect(rows(bench, "usage")).toBe(1);
			bench.ledger.settle([settlement(open)]);
			bench.time = MIDNIGHT + 400 * DAY - 1;
			expect(bench.ledger.sweep()).toBe(MIDNIGHT + 400 * DAY);
			expect([rows(bench, "requests"), settledRows(bench), rows(bench, "usage")]).toEqual([0, 0, 1]);
			bench.time += 1;
			expect(bench.ledger.sweep()).toBeUndefined();
			expect(rows(bench, "usage")).toBe(0);
			expect(account(bench).day).toBe("2027-12-27");
			bench.restart();
			reserve(bench, 1);
		}));

	it("reads no row that it does not delete", () =>
		withLedger((bench) => {
			for (let i = 0; i < 200; i++) reserve(bench, 0, { holdMs: SECOND });
			bench.time += SECOND;
			bench.ledger.expire();
			const many = Array.from({ length: 200 }, () => reserve(bench, 0));
			bench.ledger.settle(many.map((ticket) => settlement(ticket)));
			const exec = vi.spyOn(bench.storage.sql, "exec");
			bench.ledger.sweep();
			const read = exec.mock.results.map(({ value }) => value.rowsRead);
			exec.mockRestore();
			expect(read.length).toBeGreaterThan(3);
			expect(Math.max(...read)).toBeLessThan(5);
		}));

	it(
		"keeps the newest 10,000 requests, the open ones, and those of the last minute",
		() =>
			withLedger((bench) => {
				const first = reserve(bench, 1);
				bench.time += SECOND;
				const many = Array.from({ length: 12_000 }, () => ({
					admission: admission({ cost: fixedCost(0), budgets: [FREE] }),
					token: undefined,
				}));
				expect(bench.ledger.admitAll(many).filter(({ ok }) => !ok)).toEqual([]);
				bench.ledger.settle(many.map(({ admission: { ticket } }) => settlement(ticket)));
				bench.time += 59_999;
				bench.ledger.sweep();
				expect([rows(bench, "requests"), settledRows(bench)]).toEqual([1, 12_000]);
				bench.time += 1;
				bench.ledger.sweep();
				expect([rows(bench, "requests"), settledRows(bench)]).toEqual([1, 10_000]);
				bench.restart();
				bench.ledger.settle([settlement(first, { microNeurons: 1 })]);
				expect(account(bench)).toMatchObject({ spent: 1, reserved: 0 });
				const next = reserve(bench, 1);
				for (const limit of [1, 0, -1, 1.9]) {
					const { requests } = bench.ledger.requests({ limit });
					expect(requests.map(({ ticket }) => ticket)).toEqual([next]);
				}
			}),
		60_000,
	);
});

const changes = ({ storage }: LedgerBench): number =>
	storage.sql.exec<{ n: number }>("SELECT total_changes() AS n").one().n;
