/**
 * Runs of the bench on this machine, and the commit that each has measured: a line for each scenario of a run. `RESULTS.md` has the
 * rows of one commit only.
 */
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/root.ts";
import type { Run } from "./table.ts";

export const RUNS_FILE = join(ROOT, ".bench.jsonl");
/** Documents decide nothing that is measured. */
const MEASURED = [".", ":(exclude)*.md", ":(exclude)docs"];

const git = (...args: string[]): string =>
	execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();

/** The commit that a run measures. `undefined`: there is none, because files differ from it. */
export function measuredCommit(): string | undefined {
	try {
		return git("status", "--porcelain", "--", ...MEASURED) === "" ? git("rev-parse", "HEAD") : undefined;
	} catch {
		// No repository, for example in an unpacked archive.
		return undefined;
	}
}

export const recordRun = (file: string, run: Run): void => appendFileSync(file, `${JSON.stringify(run)}\n`);

/** The runs of one commit, in their order. Scenarios with the same start belong to one run. */
export function runsOf(file: string, commit: string): Run[] {
	if (!existsSync(file)) return [];
	const runs = new Map<string, Run>();
	for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
		const run = JSON.parse(line) as Run;
		if (run.commit !== commit) continue;
		runs.set(run.at, { ...run, rows: [...(runs.get(run.at)?.rows ?? []), ...run.rows] });
	}
	return [...runs.values()];
}
