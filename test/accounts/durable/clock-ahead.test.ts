import { expect, it, vi } from "vitest";
import { correctionLog } from "../../../src/accounts/clock.ts";
import { admission, fixedCost, NOON, settlement, withLedger } from "../fixtures.ts";

const MONTH_MS = 30 * 86_400_000;
const RATES = [{ key: "task:Text Generation", perMinute: 1 }];
const BUDGETS = [{ key: "account", microNeurons: 100, failure: "budgetExceeded" as const }];

for (const [restarts, aheadMs] of [
	[false, MONTH_MS],
	[true, 2 * MONTH_MS],
] as const)
	it(`an account whose clock ran ahead works again when the clock is right${restarts ? ", after a restart" : ""}`, () =>
		withLedger((bench) => {
			// The log of the process may have told of another test's clock.
			const note = vi.spyOn(correctionLog, "note").mockImplementation(() => {});
			const before = admission({ cost: fixedCost(40), budgets: BUDGETS });
			expect(bench.ledger.admit(before).ok).toBe(true);
			bench.ledger.settle([settlement(before.ticket, { microNeurons: 40 })]);
			bench.time = NOON + aheadMs;
			const ahead = admission({ rates: RATES, cost: fixedCost(100), budgets: BUDGETS });
			expect(bench.ledger.admit(ahead).ok).toBe(true);
			bench.time = NOON + 1_000;
			if (restarts) bench.restart();
			// The day has 60 of 100 left, and the minute no other request.
			expect(
				bench.ledger.admit(admission({ rates: RATES, cost: fixedCost(61), budgets: BUDGETS })),
			).toMatchObject({ ok: false });
			expect(bench.ledger.admit(admission({ rates: RATES, cost: fixedCost(60), budgets: BUDGETS })).ok).toBe(
				true,
			);
			expect(bench.ledger.admit(admission({ rates: RATES }))).toEqual({
				ok: false,
				failure: "rateLimited",
				description: expect.stringContaining("the limit of the account for Text Generation is 1 per minute"),
				perMinute: 1,
				retryAfter: 60,
			});
			expect(bench.ledger.expiryOf(ahead.ticket)).toBe(NOON + 1_000 + 600_000);
			const corrections = note.mock.calls.flatMap(([{ corrected }]) => corrected ?? []);
			expect(corrections).toEqual([aheadMs - 1_000]);
			note.mockRestore();
		}));
