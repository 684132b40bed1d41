import { describe, expect, it } from "vitest";
import { admission, type LedgerBench, SECOND, TASK, withLedger } from "../fixtures.ts";

const RATES = [{ key: "task:Token Count", perMinute: 3 }];
const count = ({ ledger }: LedgerBench, rates = RATES) => ledger.count({ task: "Token Count", rates });
const DESCRIPTION =
	"rate limiting: inference request per min rate reached: the limit of the account for Token Count is 3 per minute";
const refusedFor = (retryAfter: number) => ({
	...{ ok: false, failure: "rateLimited", description: DESCRIPTION },
	...{ perMinute: 3, retryAfter },
});

describe("counted requests", () => {
	it("are admitted exactly as often as the rate allows in any minute", () =>
		withLedger((bench) => {
			for (const gap of [0, 10 * SECOND, 10 * SECOND]) {
				bench.time += gap;
				expect(count(bench)).toEqual({ ok: true });
			}
			expect(count(bench)).toEqual(refusedFor(40));
			bench.time += 40 * SECOND - 1;
			expect(count(bench)).toEqual(refusedFor(1));
			bench.time += 1;
			expect(count(bench)).toEqual({ ok: true });
			expect(count(bench)).toEqual(refusedFor(10));
		}));

	it("are counted after a restart, also several of one millisecond", () =>
		withLedger((bench) => {
			for (let i = 0; i < 2; i++) expect(count(bench)).toEqual({ ok: true });
			bench.restart();
			expect(count(bench)).toEqual({ ok: true });
			bench.restart();
			expect(count(bench)).toEqual(refusedFor(60));
			bench.time += 60 * SECOND;
			bench.restart();
			expect(count(bench)).toEqual({ ok: true });
		}));

	it("count separately from other rates and from requests that run a model", () =>
		withLedger((bench) => {
			const rates = [{ key: `task:${TASK}`, perMinute: 1 }];
			for (let i = 0; i < 3; i++) expect(count(bench)).toEqual({ ok: true });
			expect(bench.ledger.admit(admission({ rates }))).toEqual({ ok: true });
			expect(count(bench, [{ key: "task:Markdown Conversion", perMinute: 1 }])).toEqual({ ok: true });
			expect(bench.ledger.requests({}).requests).toHaveLength(1);
			expect(bench.ledger.usage({ by: [] }).rows).toMatchObject([{ requests: 0 }]);
		}));

	it("are counted as refusals without a write if refused", () =>
		withLedger((bench) => {
			for (let i = 0; i < 3; i++) count(bench);
			const before = bench.storage.sql.exec("SELECT total_changes() AS n").one();
			for (let i = 0; i < 5; i++) expect(count(bench)).toEqual(refusedFor(60));
			expect(bench.storage.sql.exec("SELECT total_changes() AS n").one()).toEqual(before);
			expect(bench.ledger.refusals.report({ by: ["code", "task"] }).rows).toEqual([
				{ code: 3021, task: "Token Count", requests: 5 },
			]);
		}));

	it("have no row after a minute", () =>
		withLedger((bench) => {
			const rows = () => bench.storage.sql.exec("SELECT key, requests FROM counted").toArray();
			count(bench);
			count(bench);
			expect(rows()).toEqual([{ key: "task:Token Count", requests: 2 }]);
			bench.time += 60 * SECOND;
			count(bench, [{ key: "task:Markdown Conversion", perMinute: 1 }]);
			expect(rows()).toEqual([{ key: "task:Markdown Conversion", requests: 1 }]);
			bench.time += 60 * SECOND;
			bench.ledger.sweep();
			expect(rows()).toEqual([]);
		}));
});
