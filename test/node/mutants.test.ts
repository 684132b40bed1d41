import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { AREAS } from "../../tools/mutants/areas.ts";
import { candidatesIn, choose, describes, EQUIVALENTS } from "../../tools/mutants/candidates.ts";
import { Journal } from "../../tools/mutants/journal.ts";
import { mutantsOf } from "../../tools/mutants/operators.ts";
import { verdictOf } from "../../tools/mutants/sandbox.ts";
import { TESTS_OF } from "../../tools/mutants/tests-of.ts";

/** Each mutant as the whole text with the bug in it. */
const mutated = (source: string): string[] =>
	mutantsOf("a.ts", source).map(
		({ start, end, replacement }) => source.slice(0, start) + replacement + source.slice(end),
	);

describe("mutants", () => {
	it.each([
		["export const a = b < c;", ["export const a = b <= c;"]],
		["export const a = b && c;", ["export const a = b || c;"]],
		["export const a = b ?? c;", ["export const a = b;"]],
		["export const a = !b;", ["export const a = b;"]],
		["export const a = true;", ["export const a = false;"]],
		["export const LIMIT = 300;", ["export const LIMIT = 600;"]],
		["if (a) b = 0;", ["if (true) b = 0;", "if (false) b = 0;", "if (a) ;", "if (a) b = 1;"]],
		["for (;;) break;", ["for (;;) ;"]],
		["throw a;", [";"]],
		["release();", [";"]],
		["await ledger.settle(ticket);", [";"]],
	])("of %s", (source, bugs) => {
		expect(mutated(source)).toEqual(bugs);
	});

	it("are none in types, but in what has a type", () => {
		expect(mutated("type A = 1 | 2; interface B { c: true }")).toEqual([]);
		expect(mutated("export const a = 2 as 1 | 2;")).toEqual(["export const a = 4 as 1 | 2;"]);
		expect(mutated("export function f(this: A, n: 300): 300 { return n; }")).toEqual([]);
	});

	it("name their line and the text that they replace", () => {
		expect(mutantsOf("a.ts", "const a = 1;\n\nexport const b = a < 1;")).toMatchObject([
			{ line: 1, original: "1", replacement: "0" },
			{ line: 3, original: "<", replacement: "<=" },
			{ line: 3, original: "1", replacement: "0" },
		]);
	});

	it("are refused where the source cannot be parsed", () => {
		expect(() => mutantsOf("a.ts", "const a = ;")).toThrow("a.ts: ");
	});
});

describe("areas", () => {
	it.each(Object.keys(AREAS))("%s has sources", (area) => {
		expect(candidatesIn(area).length).toBeGreaterThan(100);
	});

	it("leave the simulator out", () => {
		expect(candidatesIn("backends").filter(({ file }) => file.includes("simulator"))).toEqual([]);
	});

	it("give a sample for each seed, without repetition", () => {
		const all = candidatesIn("dispatch");
		const sample = choose(all, 50, 3);
		expect(choose(all, 50, 3)).toEqual(sample);
		expect(choose(all, 50, 4)).not.toEqual(sample);
		expect(new Set(sample).size).toBe(50);
		expect(choose(all, 0, 3)).toEqual(all);
	});

	it("have each test in one stage, the mirrored ones first", () => {
		const file = "src/pools/hash-ring.ts";
		const [first, ...others] = candidatesIn("pools").find((mutant) => mutant.file === file)?.tests ?? [];
		expect(first).toEqual(["test/pools/hash-ring.test.ts"]);
		expect(others[0]).toContain("test/pools/pool.test.ts");
		expect(others.slice(1).flat()).toContain("test/surfaces/operations/pools.test.ts");
		const all = [first, ...others].flat();
		expect(new Set(all).size).toBe(all.length);
	});

	it("keep their sample where another line changes", () => {
		const mutants = (source: string) =>
			mutantsOf("a.ts", source).map((mutant) => ({ ...mutant, file: "a.ts", source, tests: [] }));
		const lines = Array.from({ length: 50 }, (_, i) => `export const a${i} = b > ${i};`).join("\n");
		const names = (source: string) => choose(mutants(source), 10, 3).map((mutant) => mutant.original);
		expect(names(`// A comment.\n\n${lines}`)).toEqual(names(lines));
	});
});

describe("lists", () => {
	it.each([...Map.groupBy(EQUIVALENTS, ({ file }) => file)])("equivalent mutants of %s", (file, listed) => {
		const candidates = candidatesIn(file);
		const matches = listed.map((equivalent) =>
			candidates.filter((mutant) => describes(equivalent, mutant)).map(({ original }) => original),
		);
		expect(matches).toEqual(listed.map(({ original }) => [original]));
	});

	it.each(Object.entries(TESTS_OF))("tests of %s", (source, tests) => {
		expect([source, ...tests].filter((file) => !existsSync(file))).toEqual([]);
	});
});

describe("an equivalent mutant", () => {
	const known = {
		file: "a.ts",
		line: "if (b)\na = 1;",
		original: "1",
		replacement: "0",
		reason: "",
	};
	const mutants = (source: string) =>
		mutantsOf("a.ts", source).map((mutant) => ({ ...mutant, file: "a.ts", source }));

	it("is found by the text of its lines, wherever they are", () => {
		const found = mutants("// moved\n\tif (c)\n\t\ta = 1;\n\tif (b)\n\t\ta = 1;").filter((mutant) =>
			describes(known, mutant),
		);
		expect(found.map(({ line }) => line)).toEqual([5]);
	});

	it("is another one where the replacement is another", () => {
		const [mutant] = mutants("if (b)\na = 2;").filter(({ original }) => original === "2");
		expect(mutant && describes(known, mutant)).toBe(false);
	});
});

describe("the verdict on a mutant", () => {
	const PASSED = { failures: {}, milliseconds: {} };
	const failed = (test: string) => ({ failures: { [test]: "wrong" }, milliseconds: {} });

	/** The tests are a and b. `results`: of each run, in order. */
	async function judged(confirm: boolean, results: Awaited<ReturnType<Parameters<typeof verdictOf>[0]>>[]) {
		const runs: string[] = [];
		const run = async (tests: readonly string[]) => {
			runs.push(tests.join());
			return results.shift() ?? expect.unreachable("a further run");
		};
		const { verdict } = await verdictOf(run, { tests: ["a", "b"], confirm });
		return { verdict, runs };
	}

	it.each([
		["killed by a failure", false, [failed("a")], "killed", ["a,b"]],
		[
			"killed by a failure that a test repeats alone",
			true,
			[failed("a"), failed("a")],
			"killed",
			["a,b", "a"],
		],
		["survived, if all pass", true, [PASSED], "survived", ["a,b"]],
		[
			"survived, if a failure is not repeated",
			true,
			[failed("a"), PASSED, PASSED],
			"survived",
			["a,b", "a", "b"],
		],
		[
			"survived, if no failure is repeated, without a run of no tests",
			true,
			[failed("a"), PASSED, failed("b"), PASSED],
			"survived",
			["a,b", "a", "b", "b"],
		],
		["survived, if vitest fails twice", true, ["broken", "broken"], "survived", ["a,b", "a,b"]],
		["killed, if vitest fails once", false, ["broken", failed("b")], "killed", ["a,b", "a,b"]],
		[
			"survived, if vitest fails in the repetition",
			true,
			[failed("a"), "broken", "broken", PASSED],
			"survived",
			["a,b", "a", "a", "b"],
		],
		[
			"killed, if vitest fails once after a failure that is not repeated",
			true,
			[failed("a"), PASSED, "broken", failed("b"), failed("b")],
			"killed",
			["a,b", "a", "b", "b", "b"],
		],
		["a timeout", true, ["timeout"], "timeout", ["a,b"]],
		["a timeout of the repetition", true, [failed("a"), "timeout"], "timeout", ["a,b", "a"]],
	] as const)("is %s", async (_, confirm, results, verdict, runs) => {
		expect(await judged(confirm, [...results])).toEqual({ verdict, runs });
	});
});

describe("the journal", () => {
	it("has the verdicts of an earlier run, but for survivors and other texts", () => {
		const folder = mkdtempSync(join(tmpdir(), "journal-"));
		onTestFinished(() => rmSync(folder, { recursive: true }));
		const path = join(folder, "journal.jsonl");
		const mutant = { file: "a.ts", source: "b = 1", start: 4, end: 5, replacement: "0" };
		const other = { ...mutant, replacement: "2" };
		const first = new Journal(path, { resume: false });
		first.record(mutant, "timeout");
		first.record(other, "survived");
		const resumed = new Journal(path, { resume: true });
		expect(resumed.killed(mutant)).toBe("timeout");
		expect(resumed.killed(other)).toBeUndefined();
		expect(resumed.killed({ ...mutant, source: "b = 1;" })).toBeUndefined();
		expect(new Journal(path, { resume: false }).killed(mutant)).toBeUndefined();
	});
});
