/**
 * The short form of `npm run soak`: the ledger under faults, on the built Worker under plain workerd, killed once. What
 * it would tell of a ledger that is wrong is tested on the same evidence.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { Audit, type Circumstances, type Evidence } from "../../tools/soak/audit.ts";
import { circumstancesOf, conserve, type Run } from "../../tools/soak/conservation.ts";
import type { Row } from "../../tools/soak/gateway.ts";
import { isClean, summary, violationDetails } from "../../tools/soak/report.ts";

const SEED = 20261121;
const REQUESTS = 600;

let run: Run;
beforeAll(async () => {
	console.log(`seed ${SEED}`);
	run = await conserve({ seed: SEED, requests: REQUESTS, kills: 1, callers: 32, holdMs: 8_000 });
	console.log(summary(run));
});

describe("a run with faults", () => {
	it("settles every request once, with its engine's usage, and never exceeds a budget", () => {
		expect(isClean(run), violationDetails(run)).toBe(true);
		const { tallies } = run.verdict;
		expect(tallies.reported.engineTokens).toBe(tallies.reported.ledgerTokens);
		expect(tallies.counted.engineTokens).toBe(tallies.counted.ledgerTokens);
		expect(tallies.cancelled.maxDifference).toBeLessThanOrEqual(1);
	});

	it("contains requests of every class", () => {
		const { tallies } = run.verdict;
		for (const name of [
			"reported",
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
		expect(run.observations.samples).toBeGreaterThan(20);
		expect(run.observations.fullest).toBeGreaterThan(0.9);
	});
});

interface Changed extends Partial<Circumstances> {
	change?(evidence: Evidence): Evidence;
}

describe("a run whose request 14 has engines that stay silent until its time limit", () => {
	// Both calls together must end before the reservation expires.
	it("ends the request in time, and bills nothing", async () => {
		const { evidence, verdict, observations } = await conserve({
			seed: 3,
			requests: 20,
			kills: 0,
			callers: 20,
			holdMs: 4_000,
			objectFaults: { lost: 0, unanswered: 0, evicted: 0 },
		});
		const silent = evidence.find(({ planned }) => planned.index === 14);
		expect(silent?.calls.map(({ fault }) => fault)).toEqual(["silent"]);
		expect(silent?.received.status).toBe(408);
		expect(verdict.violations).toEqual([]);
		expect(observations.overshoots).toEqual([]);
		expect(verdict.tallies.expired.requests).toBe(0);
	});
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
			.map((each) => (each.received.id === id ? change(each) : each));
		audit.account({ ...book, rows }, own);
		return audit.close().violations.map(({ problem }) => problem);
	}
	const ok = ({ estimated, outcome }: Row) => outcome === "ok" && !estimated;
	const changed =
		(fields: Partial<Row>) =>
		([row, ...others]: Row[]): Row[] =>
			row ? [{ ...row, ...fields }, ...others] : [];

	it("finds nothing in unchanged records", () => {
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

	it("finds a failure whose engine had answered, unless the engine was silent for its time limit", () => {
		const failed = { outcome: "failed", code: 3007, neurons: 0, input_tokens: 0, output_tokens: 0 };
		const endedAfter =
			(ms: number) =>
			({ calls, received, ...evidence }: Evidence): Evidence => {
				// A whole number, so that the difference of the times is exact.
				const startedAt = Math.floor(received.startedAt);
				const ended = { ...received, status: 408, startedAt, endedAt: startedAt + ms };
				return { ...evidence, calls: calls.slice(-1), received: ended };
			};
		const alone = ({ attempts, estimated, outcome, cached_tokens }: Row) =>
			outcome === "ok" && !estimated && attempts === 1 && cached_tokens === 0;
		const problem = "its row is failed, but the engine had answered";
		expect(found(changed(failed), alone, { change: endedAfter(1_400) })).toContain(problem);
		expect(found(changed(failed), alone, { change: endedAfter(1_500) })).not.toContain(problem);
	});

	it("finds a failure whose engine had answered, unless the time of the request had passed", () => {
		const { totalMs } = circumstancesOf(run);
		const endedAfter = (latency_ms: number) =>
			found(
				changed({ outcome: "failed", code: 3046, neurons: 0, input_tokens: 0, output_tokens: 0, latency_ms }),
				ok,
			);
		const problem = "its row is failed, but the engine had answered";
		expect(endedAfter(totalMs - 100)).toContain(problem);
		expect(endedAfter(totalMs)).not.toContain(problem);
	});

	it("finds a request that expired long before the kill", () => {
		const kills = run.killed.map(({ at, upAt }) => ({ at: at + 60_000, upAt: upAt + 60_000 }));
		expect(found(changed({ outcome: "expired" }), ok, { kills }).join("\n")).toMatch(
			/it expired, although no kill lost its settlement: its answer \(\w+, \w+\) ended \d+ ms after its start, \d+ ms before the kills; faults of its object: /,
		);
	});

	it("finds a request that expired seconds before the kill, unless its object had failed ten seconds before the request at most", () => {
		const book = run.books.find(({ rows }) => rows.some(ok));
		const row = book?.rows.find(ok);
		const evidence = run.evidence.find(({ received }) => received.id === row?.id);
		if (!book || !row || !evidence) throw new Error("no such row");
		const { calls, received } = evidence;
		const endedAt = Math.max(received.endedAt, ...calls.map(({ closedAt = 0 }) => closedAt));
		const kills = [{ at: endedAt + 3_000, upAt: endedAt + 4_000 }];
		const problems = (objectFaults: Circumstances["objectFaults"]) => {
			const audit = new Audit({ ...circumstancesOf(run), kills, objectFaults });
			audit.account({ ...book, rows: [{ ...row, outcome: "expired" }] }, [evidence]);
			const expired = audit
				.close()
				.violations.filter(({ problem }) => problem.startsWith("it expired, although"));
			return expired.map(({ problem }) => problem.replace(/.*; /, ""));
		};
		const fault = { account: book.account, kind: "lost settle", at: received.startedAt - 9_900 };
		expect(problems([])).toEqual(["faults of its object: none"]);
		expect(problems([fault])).toEqual([]);
		expect(problems([{ ...fault, at: fault.at - 200 }])).toHaveLength(1);
		expect(problems([{ ...fault, account: "another" }])).toHaveLength(1);
	});

	it("finds an answer that was complete before its caller disconnected without headers, and is not billed", () => {
		const roomy = new Set(
			run.evidence.filter(({ planned }) => planned.account === "roomy").map(({ received }) => received.id),
		);
		const change = ({
			calls,
			received: { id: _, status: __, ...received },
			...evidence
		}: Evidence): Evidence => ({
			...evidence,
			calls,
			received: { ...received, end: "disconnected", endedAt: (calls.at(-1)?.closedAt ?? 0) + 1_000 },
		});
		const none = { kills: [], objectFaults: [] };
		expect(
			found(
				(rows) => rows.slice(1),
				(row) => ok(row) && roomy.has(row.id),
				{ change, ...none },
			),
		).toContain(
			"its caller disconnected before the headers, the engine had completed the answer, and it is not billed",
		);
	});

	it.each<[string, (rows: Row[]) => Row[], (row: Row) => boolean, string]>([
		["a lost row", (rows) => rows.slice(1), ok, "an engine was called, but no row exists"],
		[
			"a request that is settled twice",
			([row, ...others]) => (row ? [row, { ...row, id: "again" }, ...others] : []),
			ok,
			"has no request, or is the second one of a request",
		],
		["too many tokens", changed({ output_tokens: 9_999 }), ok, "output tokens 9999 instead of"],
		["another price", changed({ neurons: 0.5 }), ok, "it is billed 500000"],
		["an estimate that is not marked", changed({ estimated: true }), ok, "estimated true instead of false"],
		["a request that is still open", changed({ outcome: "open" }), ok, "it is open"],
		[
			"a request that expired without a reason",
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
			"a cancelled stream that is billed above its engine's output",
			changed({ output_tokens: 500 }),
			({ outcome }) => outcome === "cancelled",
			"billed 500 of output, but",
		],
		[
			"an interrupted stream that is billed below the caller's tokens",
			(rows) => changed({ output_tokens: (rows[0]?.output_tokens ?? 0) - 1 })(rows),
			({ estimated, outcome, output_tokens }) => outcome === "interrupted" && estimated && output_tokens > 1,
			"of output, but",
		],
	])("finds %s", (_, tamper, of, problem) => {
		const violations = found(tamper, of);
		expect(
			violations.some((violation) => violation.includes(problem)),
			violations.join("\n"),
		).toBe(true);
	});
});
