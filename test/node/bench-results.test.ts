/** The table of the bench: which rows of which runs it has. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { recordRun, runsOf } from "../../tools/bench/runs.ts";
import { document, type MeasuredRow, type Run } from "../../tools/bench/table.ts";

const folder = mkdtempSync(join(tmpdir(), "ganglion-bench-results-"));
afterAll(() => rmSync(folder, { recursive: true }));

const row = (label: string, median: number, others: Partial<MeasuredRow> = {}): MeasuredRow => ({
	scenario: "json",
	label,
	measured: { median, low: median, high: median },
	unit: "x",
	...others,
});
const run = (commit: string, ...rows: MeasuredRow[]): Run => ({
	commit,
	at: "2026-11-28T17:40:10.000Z",
	load: 1.25,
	rows,
});
const SCENARIOS = ["json", "memory"];
/** The cells of the rows, without the note. */
const cellsOf = (text: string): string[][] =>
	text
		.split("\n")
		.filter((line) => line.startsWith("| ") && !/^\| (?:What|---)/.test(line))
		.map((line) =>
			line
				.split("|")
				.slice(1, -2)
				.map((cell) => cell.trim()),
		);

describe("the results", () => {
	it("have no row that was not measured at the commit", () => {
		const file = join(folder, "runs.jsonl");
		expect(runsOf(file, "new")).toEqual([]);
		recordRun(file, run("old", row("a", 9), row("only before", 1)));
		recordRun(file, run("new", row("a", 2)));
		const text = document(runsOf(file, "new"), SCENARIOS);
		expect(cellsOf(text).map(([label]) => label)).toEqual(["a"]);
		expect(text).toContain("(new)");
		expect(text).toContain(
			"Runs: 1, the first at 2026-11-28 17:40 UTC, the last at 2026-11-28 17:40 UTC; the load of the machine before them was 1.3 to 1.3.",
		);
	});

	it("have the scenarios of one run together", () => {
		const file = join(folder, "scenarios.jsonl");
		const later = { ...run("a", row("ratio", 3)), at: "2026-11-28T19:00:00.000Z" };
		for (const part of [run("a", row("ratio", 2)), run("a", row("size", 4, { scenario: "memory" })), later])
			recordRun(file, part);
		const runs = runsOf(file, "a");
		expect(runs.map(({ rows }) => rows.map(({ label }) => label))).toEqual([["ratio", "size"], ["ratio"]]);
		expect(document(runs, SCENARIOS)).toContain(
			"Runs: 2, the first at 2026-11-28 17:40 UTC, the last at 2026-11-28 19:00 UTC;",
		);
	});

	it("do not join rows of two scenarios that have one label", () => {
		const runs = [run("a", row("ratio", 2), row("ratio", 4, { scenario: "memory" }))];
		expect(cellsOf(document(runs, SCENARIOS)).map(([, measured]) => measured)).toEqual(["2.00 x", "4.00 x"]);
	});

	it("have the median and the worst of all runs, and judge the worst", () => {
		const bars = { bar: 2, stretch: 1.5 };
		const runs = [1.4, 2.1, 1.6].map((median) => run("a", row("ratio", median, bars)));
		expect(cellsOf(document(runs, SCENARIOS))).toEqual([
			["ratio", "1.60 x", "2.10 x", "3", "", "2 x", "1.5 x", "**missed**"],
		]);
		expect(cellsOf(document(runs.slice(0, 1), SCENARIOS))).toEqual([
			["ratio", "1.40 x", "", "1", "", "2 x", "1.5 x", "stretch"],
		]);
	});

	it("have the note of the last run, and say so if there are several", () => {
		const runs = ["577 us, floor 273 us", "500 us, floor 250 us"].map((note) =>
			run("a", row("ratio", 2, { note })),
		);
		const text = document(runs, SCENARIOS);
		expect(text).toContain("| Stretch | Verdict of the worst run | Note |");
		expect(text).toContain("| 500 us, floor 250 us (last run) |");
		expect(document(runs.slice(0, 1), SCENARIOS)).toContain("| 577 us, floor 273 us |");
	});

	it("have counts without digits, and small fractions with them", () => {
		const runs = [run("a", ...[137, 1306.983, 2, 0.0213].map((each) => row(`${each}`, each, { unit: "" })))];
		const values = cellsOf(document(runs, SCENARIOS)).map(([, measured]) => measured);
		expect(values).toEqual(["137", "1307", "2", "0.021"]);
	});

	it("know rows whose values should be high", () => {
		const bars = { unit: "", bar: 500, stretch: 2_000, isMoreBetter: true } as const;
		const runs = [900, 499, 2_100].map((median) => run("a", row("a second", median, bars)));
		const verdicts = [runs, runs.slice(0, 1), runs.slice(2)].map(
			(some) => cellsOf(document(some, SCENARIOS))[0]?.[7],
		);
		expect(verdicts).toEqual(["**missed**", "met", "stretch"]);
		expect(cellsOf(document(runs, SCENARIOS))[0]?.slice(1, 7)).toEqual([
			...["900", "499", "3", ""],
			...["at least 500", "at least 2000"],
		]);
	});

	it("have the order of the scenarios, whichever ran first", () => {
		const runs = [
			run("a", row("second", 1, { scenario: "memory" })),
			run("a", row("first", 1), row("next", 1)),
		];
		expect(cellsOf(document(runs, SCENARIOS)).map(([label]) => label)).toEqual(["first", "next", "second"]);
	});
});
