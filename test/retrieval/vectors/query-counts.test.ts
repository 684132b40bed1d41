/** When the queries of vector indexes are reported to their registry, and how often. */
import { describe, expect, it } from "vitest";
import { QueryCounts } from "../../../src/retrieval/vectors/client/query-counts.ts";
import type { QueryReport } from "../../../src/retrieval/vectors/durable/day-table.ts";

/** A clock that stands still until `pass`. `failures`: of the first reports. */
function counting(failures = 0) {
	const reports: (QueryReport & { account: string })[] = [];
	const timers: { at: number; fire(): void }[] = [];
	let now = Date.parse("2026-11-21T12:00:00Z");
	let ids = 0;
	let isStopped = true;
	const queryCounts = new QueryCounts({
		now: () => now,
		uuid: () => String(++ids),
		wait: (milliseconds) => new Promise((fire) => timers.push({ at: now + milliseconds, fire })),
		waitUntil(promise) {
			isStopped = false;
			void promise.then(() => {
				isStopped = true;
			});
		},
		keepAlive: (promise) => void promise,
		async report(account, report) {
			reports.push({ account, ...report });
			if (failures-- > 0) throw new Error("unreachable");
		},
	});
	return {
		queryCounts,
		reports,
		mayStop: () => isStopped,
		async pass(milliseconds: number) {
			now += milliseconds;
			for (const timer of timers.splice(0)) {
				if (timer.at <= now) timer.fire();
				else timers.push(timer);
			}
			await new Promise((done) => setTimeout(done, 0));
		},
	};
}

const day = "2026-11-21";

describe("queries of vector indexes", () => {
	it("are one report of an account in ten seconds", async () => {
		const { pass, queryCounts, reports } = counting();
		queryCounts.count("acme", "docs", 768);
		queryCounts.count("acme", "docs", 768);
		queryCounts.count("other", "docs", 2);
		await pass(5_000);
		queryCounts.count("acme", "pages", 3);
		expect(reports).toEqual([]);
		await pass(5_000);
		expect(reports).toEqual([
			{
				...{ account: "acme", id: "1" },
				counts: [
					{ index: "docs", day, queries: 2, dimensions: 1_536 },
					{ index: "pages", day, queries: 1, dimensions: 3 },
				],
			},
			{ account: "other", id: "2", counts: [{ index: "docs", day, queries: 1, dimensions: 2 }] },
		]);
		await pass(60_000);
		expect(reports).toHaveLength(2);
	});

	it("are reported at once at a stop, and not a second time", async () => {
		const { mayStop, pass, queryCounts, reports } = counting();
		queryCounts.count("acme", "docs", 2);
		queryCounts.count("other", "docs", 2);
		expect(mayStop()).toBe(true);
		await queryCounts.flushAll();
		expect(reports.map(({ account }) => account)).toEqual(["acme", "other"]);
		await pass(10_000);
		expect(reports).toHaveLength(2);
	});

	it("are reported again with the same id after a failure, and a stop waits for it", async () => {
		const { mayStop, pass, queryCounts, reports } = counting(2);
		queryCounts.count("acme", "docs", 2);
		await queryCounts.flush("acme");
		expect(reports).toHaveLength(1);
		expect(mayStop()).toBe(false);
		await pass(1_000);
		await pass(5_000);
		expect(reports.map(({ id }) => id)).toEqual(["1", "1", "1"]);
		await pass(0);
		expect(mayStop()).toBe(true);
	});
});
