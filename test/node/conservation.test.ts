/**
 * The short form of `npm run soak`: the ledger under faults, on the built Worker under plain workerd, killed once. What
 * it would tell of a ledger that is wrong is tested on the same evidence.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { Audit, type Evidence } from "../../soak/audit.ts";
import { conserve, type Run } from "../../soak/conservation.ts";
import type { Row } from "../../soak/gateway.ts";
import { isClean, stories, summary } from "../../soak/report.ts";
import { totalMsOf } from "../../soak/settings.ts";

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
		expect(tallies.left.mostApart).toBeLessThanOrEqual(1);
	});

	it("had something of everything in it", () => {
		const { tallies } = run.verdict;
		for (const name of ["told", "counted", "estimated", "left", "leftRunning", "cut", "failed"] as const)
			expect(tallies[name].requests, name).toBeGreaterThan(0);
		expect(tallies.expired.requests).toBeGreaterThan(0);
		expect(run.killed).toHaveLength(1);
		expect(run.objectFaults.size).toBeGreaterThan(0);
		expect(run.watched.samples).toBeGreaterThan(20);
		expect(run.watched.fullest).toBeGreaterThan(0.9);
	});
});

describe("an audit", () => {
	/** What it says of one account's rows when `tamper` has been at them. */
	async function found(tamper: (rows: Row[]) => Row[], of: (row: Row) => boolean): Promise<string[]> {
		const { books } = run;
		const book = books.find(({ rows }) => rows.some(of));
		if (!book) throw new Error("no such row");
		const chosen = book.rows.findIndex(of);
		const rows = tamper([...book.rows.slice(chosen), ...book.rows.slice(0, chosen)]);
		const audit = new Audit(run.killed, totalMsOf(run.options));
		const own = run.evidence.filter((each: Evidence) => each.planned.account === book.account);
		await audit.account({ ...book, rows }, own);
		return audit.close().violations.map(({ what }) => what);
	}
	const ok = ({ estimated, outcome }: Row) => outcome === "ok" && !estimated;
	const changed =
		(fields: Partial<Row>) =>
		([row, ...rest]: Row[]): Row[] =>
			row ? [{ ...row, ...fields }, ...rest] : [];

	it("finds nothing where nobody was", async () => {
		expect(await found((rows) => rows, ok)).toEqual([]);
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
		["another price", changed({ neurons: 0.5 }), ok, "micro-neurons 500000 instead of"],
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
			"a stream that was left, billed above what its engine gave",
			changed({ output_tokens: 500 }),
			({ outcome }) => outcome === "left",
			"billed 500 of output, but",
		],
		[
			"a stream that was cut, billed for less than had come",
			(rows) => changed({ output_tokens: (rows[0]?.output_tokens ?? 0) - 1 })(rows),
			({ estimated, outcome, output_tokens }) => outcome === "cut" && estimated && output_tokens > 1,
			"of output, but",
		],
	])("tells of %s", async (_, tamper, of, what) => {
		const violations = await found(tamper, of);
		expect(
			violations.some((told) => told.includes(what)),
			violations.join("\n"),
		).toBe(true);
	});
});
