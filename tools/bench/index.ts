/**
 * `npm run bench`: compares the cost of the gateway with a Worker that only forwards and with Portkey's gateway, in one run
 * and as ratios. tools/bench/NOTES.md explains the results, docs/performance.md what they mean for a user.
 *
 *     npm run bench -- --only json,stream --seconds 3 --rounds 7
 *     npm run bench -- --write
 *
 * What a run of a commit measures is kept in `.bench.jsonl`, after each scenario. `--write` makes the table of all runs of this commit,
 * so that a row has the median and the worst of several times, and none of another commit.
 */
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { readOptions } from "../../scripts/options.ts";
import { openField } from "./contenders.ts";
import type { Context } from "./context.ts";
import { measuredCommit, RUNS_FILE, recordRun, runsOf } from "./runs.ts";
import { SCENARIOS, type ScenarioName } from "./scenarios.ts";
import { document, type MeasuredRow, rowLine } from "./table.ts";

const names = Object.keys(SCENARIOS) as ScenarioName[];
const values = readOptions(
	{
		only: { type: "string" },
		seconds: { type: "string", default: "3" },
		rounds: { type: "string", default: "5" },
		write: { type: "boolean", default: false },
	},
	`npm run bench -- [options]

  --only A,B     of ${names.join(", ")}
  --seconds N    of load in a round (3)
  --rounds N     of which the median counts (5)
  --write        the rows of all runs of this commit into tools/bench/RESULTS.md`,
);
if (process.platform !== "linux") {
	console.error("The bench reads CPU times from /proc: it runs on Linux.");
	process.exit(1);
}

const chosen = values.only?.split(",") ?? names;
const unknown = chosen.filter((name) => !names.some((known) => known === name));
if (unknown.length > 0) {
	console.error(`No such scenario: ${unknown.join(", ")}. There are: ${names.join(", ")}`);
	process.exit(1);
}

for (const name of ["seconds", "rounds"] as const)
	if (!(Number(values[name]) > 0)) {
		console.error(`--${name}: expected a number above 0, found ${values[name]}`);
		process.exit(1);
	}
const commit = measuredCommit();
if (values.write && commit === undefined) {
	console.error("--write is for a commit: files differ from it.");
	process.exit(1);
}

const [load = 0] = loadavg();
const at = new Date().toISOString();
const field = await openField();
const context: Context = {
	field,
	seconds: Number(values.seconds),
	rounds: Number(values.rounds),
	say: (text) => console.error(text),
};
const rows: MeasuredRow[] = [];
const head = { commit: commit ?? "with changes", at, load };
let isKept = commit !== undefined;
try {
	for (const scenario of names.filter((each) => chosen.includes(each))) {
		console.error(`\n${scenario}`);
		const measured = (await SCENARIOS[scenario](context)).map((row) => ({ scenario, ...row }));
		for (const row of measured) console.error(`  ${rowLine(row)}`);
		rows.push(...measured);
		// Files may have changed meanwhile.
		isKept &&= measuredCommit() === commit;
		// A run takes long, so what it has measured is kept if a later scenario fails or somebody stops it.
		if (isKept) recordRun(RUNS_FILE, { ...head, rows: measured });
	}
} finally {
	await field.close();
}
console.log(`\n${document([{ ...head, rows }], names)}`);
if (!isKept || commit === undefined)
	console.error("Files differ from the commit, so what was measured since then is not kept for --write.");
else if (values.write)
	writeFileSync(join(import.meta.dirname, "RESULTS.md"), document(runsOf(RUNS_FILE, commit), names));
