/**
 * `npm run mutants`: how many small bugs the tests notice. Each bug (mutant) is put into a copy of the project, one at a
 * time, and the tests that mirror the file are run: a few seconds for each mutant.
 *
 *     npm run mutants -- --only accounts --sample 50 --seed 7
 *
 * Mutants that no test can notice, because the program behaves the same, are in `equivalent.json` with the reason.
 */
import { join } from "node:path";
import { readOptions } from "../scripts/options.ts";
import { stopWith } from "../scripts/settings.ts";
import { ROOT } from "../scripts/worker.ts";
import { progressTo } from "../soak/progress.ts";
import { Random } from "../soak/random.ts";
import { AREAS } from "./areas.ts";
import { type Candidate, candidatesIn, choose, isEquivalent } from "./candidates.ts";
import { Journal } from "./journal.ts";
import { Sandbox, type Verdict } from "./sandbox.ts";

const DEFAULTS = { sample: "25", seed: "1", "at-least": "95" };

const USAGE = `npm run mutants -- [options]

  --only AREA       ${Object.keys(AREAS).join(", ")}; or a file or folder; may be repeated (all areas)
  --sample N        mutants of each area, chosen at random (${DEFAULTS.sample}); 0 for all
  --seed N          of the choice (${DEFAULTS.seed})
  --at-least N      per cent of each area that must be killed, or the exit code is 1 (${DEFAULTS["at-least"]})
  --related         where the mirrored tests pass, run all worker tests that import the file
  --resume          skip what an earlier run killed; .mutants.jsonl has its verdicts
  --list            print the mutants and run nothing`;

/** A run of tests without a mutant. */
interface CleanRun {
	verdict: Verdict;
	milliseconds: number;
}

const text = (byDefault: string) => ({ type: "string", default: byDefault }) as const;
const options = readOptions(
	{
		only: { type: "string", multiple: true },
		sample: text(DEFAULTS.sample),
		seed: text(DEFAULTS.seed),
		"at-least": text(DEFAULTS["at-least"]),
		related: { type: "boolean" },
		resume: { type: "boolean" },
		list: { type: "boolean" },
	},
	USAGE,
);
const wholeNumber = (name: "sample" | "seed" | "at-least"): number => {
	const value = Number(options[name]);
	return Number.isInteger(value) && value >= 0
		? value
		: stopWith(`--${name}: expected a whole number, found ${options[name]}`);
};
const [sample, seed, atLeast] = [wholeNumber("sample"), wholeNumber("seed"), wholeNumber("at-least")];

const samples = (options.only ?? Object.keys(AREAS)).map((area) => {
	const candidates = candidatesIn(area);
	if (candidates.length === 0) stopWith(`--only: there is nothing to mutate in ${area}`);
	const mutants = choose(
		candidates.filter((candidate) => !isEquivalent(candidate)),
		sample,
		new Random(seed),
	);
	return { area, mutants, total: candidates.length };
});
if (options.list) {
	for (const { mutants } of samples) for (const mutant of mutants) console.log(describe(mutant));
	process.exit(0);
}
process.exit(await judgeAll(new Sandbox(ROOT)));

async function judgeAll(sandbox: Sandbox): Promise<number> {
	process.once("SIGINT", () => process.exit(130));
	process.once("SIGTERM", () => process.exit(143));
	process.once("exit", () => sandbox.remove());
	const journal = new Journal(join(ROOT, ".mutants.jsonl"), { resume: options.resume === true });
	const cleanRuns = new Map<string, CleanRun>();
	const summary: string[] = [];
	let enough = true;
	for (const { area, mutants, total } of samples) {
		console.log(`${area}: ${mutants.length} of ${total} mutants, seed ${seed}`);
		const survivors: Candidate[] = [];
		let timeouts = 0;
		const progress = progressTo(process.stdout);
		for (const [index, mutant] of mutants.entries()) {
			progress(index, mutants.length, `${mutant.file}:${mutant.line}`);
			const known = journal.killed(mutant.file, mutant.source, mutant);
			const verdict = known ?? (await judge(sandbox, mutant, cleanRuns));
			if (!known) journal.record(mutant.file, mutant.source, { mutant, verdict });
			if (verdict === "timeout") timeouts++;
			if (verdict !== "survived") continue;
			survivors.push(mutant);
			console.log(`\nsurvived  ${describe(mutant)}`);
		}
		const killed = mutants.length - survivors.length;
		const share = (100 * killed) / mutants.length;
		enough &&= share >= atLeast;
		summary.push(
			`${area}: ${killed} of ${mutants.length} killed (${share.toFixed(1)} %), ${timeouts} of them by a timeout`,
			...survivors.map((survivor) => `  survived  ${describe(survivor)}`),
		);
	}
	console.log(`\n${summary.join("\n")}`);
	return enough ? 0 : 1;
}

async function judge(
	sandbox: Sandbox,
	mutant: Candidate,
	cleanRuns: Map<string, CleanRun>,
): Promise<Verdict> {
	for (const tests of [mutant.tests, options.related ? ["related", mutant.file] : []]) {
		if (tests.length === 0) continue;
		const clean = await runClean(sandbox, tests, cleanRuns);
		// For an endless loop; the first clean run includes the start of vitest.
		const timeoutMs = 15_000 + 3 * clean.milliseconds;
		const verdict = await sandbox.judge(mutant.file, mutant, { tests, timeoutMs });
		if (verdict !== "survived") return verdict;
	}
	return "survived";
}

/** Tests that fail without a mutant would kill every mutant. They run twice, because a busy machine may fail them once. */
async function runClean(
	sandbox: Sandbox,
	tests: readonly string[],
	cleanRuns: Map<string, CleanRun>,
): Promise<CleanRun> {
	const key = tests.join(" ");
	const earlier = cleanRuns.get(key);
	if (earlier) return earlier;
	for (let attempt = 1; ; attempt++) {
		const startedAt = Date.now();
		const verdict = await sandbox.run(tests);
		const clean = { verdict, milliseconds: Date.now() - startedAt };
		cleanRuns.set(key, clean);
		if (verdict === "survived") return clean;
		if (attempt === 2) stopWith(`\nThe tests fail without a mutant: vitest ${key}`);
	}
}

function describe({ file, line, original, replacement }: Candidate): string {
	const short = (part: string): string => part.replaceAll(/\s+/g, " ").slice(0, 70);
	return `${file}:${line}  ${short(original)}  ->  ${short(replacement) || "(nothing)"}`;
}
