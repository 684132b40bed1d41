/** The short form of `npm run soak -- --only gateways`: logs and ledger of gateways, on the built Worker under plain workerd, killed once. */
import { beforeAll, describe, expect, it } from "vitest";
import { audit } from "../../tools/soak/gateways/audit.ts";
import { gatewaySummary } from "../../tools/soak/gateways/report.ts";
import { conserveThroughGateways, type GatewayRun } from "../../tools/soak/gateways/run.ts";

const SEED = 20261122;

let run: GatewayRun;
beforeAll(async () => {
	console.log(`seed ${SEED}`);
	run = await conserveThroughGateways({ seed: SEED, requests: 320, kills: 1, callers: 32, holdMs: 8_000 });
	console.log(gatewaySummary(run));
});

describe("a run through gateways, with a kill", () => {
	it("logs every request once, and bills every call of an engine once", () => {
		expect(run.verdict.violations).toEqual([]);
		const { lost: _, killed, ...counts } = run.verdict.counts;
		for (const [name, count] of Object.entries(counts)) expect(count, name).toBeGreaterThan(0);
		expect(killed).toBeGreaterThan(0);
		expect(run.killed).toHaveLength(1);
	});
});

describe("its audit", () => {
	const violations = (books: Partial<GatewayRun["books"]>): string[] =>
		audit({ ...run.books, ...books }).violations;
	/** The account's list without, or with a change of, its first row of this kind. */
	function changed<T>(
		lists: ReadonlyMap<string, readonly T[]>,
		is: (row: T) => boolean,
		change: (row: T) => T[],
	) {
		const [found] = [...lists].filter(([, rows]) => rows.some(is));
		if (!found) throw new Error("no such row");
		const [account, rows] = found;
		const place = rows.findIndex(is);
		return new Map([
			...lists,
			[account, rows.flatMap((row, index) => (index === place ? change(row) : [row]))],
		]);
	}

	it("finds a log that is missing, and one that exists twice", () => {
		const { logs, records } = run.books;
		const last = records.findLast(({ end, status }) => end === "complete" && status === 200)?.index;
		const is = ({ metadata }: { metadata?: { request?: number } }) => metadata?.request === last;
		expect(violations({ logs: changed(logs, is, () => []) })).toEqual([
			expect.stringContaining("it has no log"),
		]);
		expect(violations({ logs: changed(logs, is, (row) => [row, row]) })).toEqual([
			expect.stringContaining("it has 2 logs"),
		]);
	});

	it("finds a cached answer that costs something", () => {
		const logs = changed(
			run.books.logs,
			({ cached }) => cached,
			(row) => [{ ...row, cost: 0.01 }],
		);
		expect(violations({ logs })).toEqual([expect.stringContaining("its answer is cached")]);
	});

	it("finds a call of an engine that is billed twice", () => {
		const is = ({ outcome, model }: { outcome: string; model: string }) =>
			outcome === "ok" && model === "soak/chat";
		const ledger = changed(run.books.ledger, is, (row) => [row, row]);
		expect(violations({ ledger }).join("\n")).toContain("is the usage of no call");
	});
});
