/**
 * The short form of `npm run soak`: the ledger under faults, on the built Worker under plain workerd, killed once. What
 * it would tell of a ledger that is wrong is tested on the same evidence.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { Audit, type Circumstances, type Evidence } from "../../soak/audit.ts";
import { circumstancesOf, conserve, type Run } from "../../soak/conservation.ts";
import type { Row } from "../../soak/gateway.ts";
import { isClean, stories, summary } from "../../soak/report.ts";

const SEED = 20261121;
const REQUESTS = 600;

let run: Run;
beforeAll(async () => {
	console.log(`seed ${SEED}`);
	run = await conserve({ seed: SEED, requests: REQUESTS, kills: 1, callers: 32, holdMs: 8_000 });
	console.log(summary(run));
}, 120_000);

describe("a run with faults", () => {
	it("settles every request once, at what its engine served, and never passes a budget", () => {
		expect(isClean(run), stories(run)).toBe(true);
		const { tallies } = run.verdict;
		expect(tallies.told.engineTokens).toBe(tallies.told.ledgerTokens);
		expect(tallies.counted.engineTokens).toBe(tallies.counted.ledgerTokens);
		expect(tallies.cancelled.mostApart).toBeLessThanOrEqual(1);
	});

	it("had something of everything in it", () => {
		const { tallies } = run.verdict;
		for (const name of [
			"told",
			"counted",
			"estimated",
			"cancelled",
			"cancelledRunning",
			"interrupted",
			"failed",
		] as const)
			expect(tallies[name].requests, name).toBeGreaterThan(0);
		expect(tallies.expired.requests).toBeGreaterThan(0);
		expect(run.killed).toHaveLength(1);
		expect(run.objectFaults.length).toBeGreaterThan(0);
		expect(run.watched.samples).toBeGreaterThan(20);
		expect(run.watched.fullest).toBeGreaterThan(0.9);
	});
});

interface Changed extends Partial<Circumstances> {
	change?(evidence: Evidence): Evidence;
}

describe("a run whose request 14 has two engines that are silent until its time is up", () => {
	// Each call alone had as much time as both: the request took longer than its reservation was held, and expired.
	it("ends the request in time, and bills nothing", async () => {
		const { evidence, verdict, watched } = await conserve({
			seed: 3,
			requests: 20,
			kills: 0,
			callers: 20,
			holdMs: 4_000,
			objectFaults: { lost: 0, unanswered: 0, evicted: 0 },
		});
		const silent = evidence.find(({ planned }) => planned.index === 14);
		expect(silent?.calls.map(({ fault }) => fault)).toEqual(["silent"]);
		expect(silent?.heard.status).toBe(408);
		expect(verdict.violations).toEqual([]);
		expect(watched.overshoots).toEqual([]);
		expect(verdict.tallies.expired.requests).toBe(0);
	}, 60_000);
});

describe("an audit", () => {
	/** Violations in one account whose rows were changed, the chosen one first, and the evidence of that row. */
	function found(
		tamper: (rows: Row[]) => Row[],
		of: (row: Row) => boolean,
		{ change = (each) => each, ...circumstances }: Changed = {},
	): string[] {
		const { books } = run;
		const book = books.find(({ rows }) => rows.some(of));
		if (!book) throw new Error("no such row");
		const chosen = book.rows.findIndex(of);
		const rows = tamper([...book.rows.slice(chosen), ...book.rows.slice(0, chosen)]);
		const audit = new Audit({ ...circumstancesOf(run), ...circumstances });
		const id = book.rows[chosen]?.id;
		const own = run.evidence
			.filter(({ planned }) => planned.account === book.account)
			.map((each) => (each.heard.id === id ? change(each) : each));
		audit.account({ ...book, rows }, own);
		return audit.close().violations.map(({ what }) => what);
	}
	const ok = ({ estimated, outcome }: Row) => outcome === "ok" && !estimated;
	const changed =
		(fields: Partial<Row>) =>
		([row, ...rest]: Row[]): Row[] =>
			row ? [{ ...row, ...fields }, ...rest] : [];

	it("finds nothing in what was not changed", () => {
		expect(found((rows) => rows, ok)).toEqual([]);
	});

	it("finds an engine that was called more often than the route allows", () => {
		const change = ({ calls, ...evidence }: Evidence): Evidence => ({
			...evidence,
			calls: Array.from({ length: 5 }, () => calls).flat(),
		});
		expect(found((rows) => rows, ok, { change }).join("\n")).toMatch(
			/called \d+ times, the route allows [24]/,
		);
	});

	it("finds a failure whose engine had answered, unless the gateway had waited for its time", () => {
		const failed = { outcome: "failed", code: 3007, neurons: 0, input_tokens: 0, output_tokens: 0 };
		const endedAfter =
			(ms: number) =>
			({ heard, ...evidence }: Evidence): Evidence => ({
				...evidence,
				heard: { ...heard, status: 408, endedAt: heard.startedAt + ms },
			});
		const alone = ({ attempts, estimated, outcome, cached_tokens }: Row) =>
			outcome === "ok" && !estimated && attempts === 1 && cached_tokens === 0;
		const what = "it was booked as failed, but the engine had answered";
		expect(found(changed(failed), alone, { change: endedAfter(1_400) })).toContain(what);
		expect(found(changed(failed), alone, { change: endedAfter(1_500) })).not.toContain(what);
	});

	it("finds a request that expired long before the kill", () => {
		const kills = run.killed.map(({ at, upAt }) => ({ at: at + 60_000, upAt: upAt + 60_000 }));
		expect(found(changed({ outcome: "expired" }), ok, { kills })).toContain(
			"it expired, although no kill lost its settlement",
		);
	});

	it("finds an answer that was finished before its caller left without headers, and is not billed", () => {
		const roomy = new Set(
			run.evidence.filter(({ planned }) => planned.account === "roomy").map(({ heard }) => heard.id),
		);
		const change = ({ calls, heard: { id: _, status: __, ...heard }, ...evidence }: Evidence): Evidence => ({
			...evidence,
			calls,
			heard: { ...heard, end: "left", endedAt: (calls.at(-1)?.closedAt ?? 0) + 1_000 },
		});
		const none = { kills: [], objectFaults: [] };
		expect(
			found(
				(rows) => rows.slice(1),
				(row) => ok(row) && roomy.has(row.id),
				{ change, ...none },
			),
		).toContain("its caller left before the headers, the engine had finished, and it is not billed");
	});

	it.each<[string, (rows: Row[]) => Row[], (row: Row) => boolean, string]>([
		["a row that is lost", (rows) => rows.slice(1), ok, "an engine was asked, but nothing was booked"],
		[
			"a request that is settled twice",
			([row, ...rest]) => (row ? [row, { ...row, id: "again" }, ...rest] : []),
			ok,
			"is nobody's, or a second of somebody's",
		],
		["a token too many", changed({ output_tokens: 9_999 }), ok, "output tokens 9999 instead of"],
		["another price", changed({ neurons: 0.5 }), ok, "it is billed 500000"],
		["an estimate that is not told of", changed({ estimated: true }), ok, "estimated true instead of false"],
		["a request that is still open", changed({ outcome: "open" }), ok, "it is open"],
		[
			"one that expired for no reason",
			changed({ outcome: "expired" }),
			ok,
			"another price than was reserved",
		],
		[
			"a failure that is billed",
			changed({ neurons: 1 }),
			({ outcome }) => outcome === "failed",
			"a failure was billed",
		],
		[
			"a stream that was cancelled, billed above what its engine gave",
			changed({ output_tokens: 500 }),
			({ outcome }) => outcome === "cancelled",
			"billed 500 of output, but",
		],
		[
			"a stream that was interrupted, billed for less than had come",
			(rows) => changed({ output_tokens: (rows[0]?.output_tokens ?? 0) - 1 })(rows),
			({ estimated, outcome, output_tokens }) => outcome === "interrupted" && estimated && output_tokens > 1,
			"of output, but",
		],
	])("finds %s", (_, tamper, of, what) => {
		const violations = found(tamper, of);
		expect(
			violations.some((told) => told.includes(what)),
			violations.join("\n"),
		).toBe(true);
	});
});
