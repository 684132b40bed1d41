/**
 * `npm run mutants`: measures how many small bugs the tests find. Each bug (mutant) is put into a copy of the project, one at a time. Then
 * the mirrored tests of the file run, then those of its area, and then those of the complete gateway, until one of them finds the bug.
 *
 *     npm run mutants -- --only accounts --sample 50 --seed 7
 *
 * `equivalent.json` lists the mutants that no test can find, because the program behaves the same, with the reason.
 */
import { join } from "node:path";
import { exitOnSignals } from "../../scripts/exit-on-signal.ts";
import { readOptions } from "../../scripts/options.ts";
import { ROOT } from "../../scripts/root.ts";
import { stopWith } from "../../scripts/stop-with.ts";
import { progressTo } from "../soak/progress.ts";
import { AREAS } from "./areas.ts";
import { type Candidate, candidatesIn, choose, isEquivalent, NEAR_STAGES } from "./candidates.ts";
import { Journal } from "./journal.ts";
import type { TestRun } from "./runner.ts";
import { Sandbox, type Verdict } from "./sandbox.ts";

const DEFAULTS = { sample: "25", seed: "1", "at-least": "95" };

const USAGE = `npm run mutants -- [options]

  --only AREA       ${Object.keys(AREAS).join(", ")}; or a file or folder; may be repeated (all areas)
  --sample N        mutants of each area, chosen at random (${DEFAULTS.sample}); 0 for all
  --seed N          of the random choice (${DEFAULTS.seed})
  --at-least N      per cent of each area that must be killed, or the exit code is 1 (${DEFAULTS["at-least"]})
  --near            only the tests beside the sources and of their area, not those of the complete gateway
  --resume          skip mutants that an earlier run killed (.mutants.jsonl)
  --list            print the mutants and run nothing`;

const text = (byDefault: string) => ({ type: "string", default: byDefault }) as const;
const options = readOptions(
	{
		only: { type: "string", multiple: true },
		sample: text(DEFAULTS.sample),
		seed: text(DEFAULTS.seed),
		"at-least": text(DEFAULTS["at-least"]),
		near: { type: "boolean" },
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
		seed,
	);
	return { area, mutants, total: candidates.length };
});
if (options.list) {
	for (const { mutants } of samples) for (const mutant of mutants) console.log(describe(mutant));
	process.exit(0);
}
process.exit(await judgeAll(new Sandbox(ROOT)));

async function judgeAll(sandbox: Sandbox): Promise<number> {
	exitOnSignals();
	process.once("exit", () => sandbox.stop());
	const journal = new Journal(join(ROOT, ".mutants.jsonl"), { resume: options.resume === true });
	const pending = samples.flatMap(({ mutants }) => mutants).filter((mutant) => !journal.killed(mutant));
	const durations = new Map<string, number>();
	const mirrored = [...new Set(pending.flatMap(({ tests: [first = []] }) => first))];
	console.log(`${mirrored.length} test files without a mutant`);
	await runClean(sandbox, mirrored, durations);
	const summary: string[] = [];
	let isEnough = true;
	for (const { area, mutants, total } of samples) {
		console.log(`${area}: ${mutants.length} of ${total} mutants, seed ${seed}`);
		const survivors: Candidate[] = [];
		let timeouts = 0;
		const progress = progressTo(process.stdout);
		for (const [index, mutant] of mutants.entries()) {
			progress(index, mutants.length, `${mutant.file}:${mutant.line}`);
			const earlier = journal.killed(mutant);
			const verdict = earlier ?? (await judge(sandbox, mutant, durations));
			if (!earlier) journal.record(mutant, verdict);
			if (verdict === "timeout") timeouts++;
			if (verdict !== "survived") continue;
			survivors.push(mutant);
			console.log(`\nsurvived  ${describe(mutant)}`);
		}
		const killed = mutants.length - survivors.length;
		const share = (100 * killed) / mutants.length;
		isEnough &&= share >= atLeast;
		summary.push(
			`${area}: ${killed} of ${mutants.length} killed (${share.toFixed(1)} %), ${timeouts} of them by a timeout`,
			...survivors.map((survivor) => `  survived  ${describe(survivor)}`),
		);
	}
	console.log(`\n${summary.join("\n")}`);
	return isEnough ? 0 : 1;
}

async function judge(sandbox: Sandbox, mutant: Candidate, durations: Map<string, number>): Promise<Verdict> {
	const stages = options.near ? mutant.tests.slice(0, NEAR_STAGES) : mutant.tests;
	for (const [stage, tests] of stages.entries()) {
		if (tests.length === 0) continue;
		await runClean(sandbox, tests, durations);
		const cleanMs = tests.reduce((sum, test) => sum + (durations.get(test) ?? 0), 0);
		// Mutants may loop endlessly. The durations do not include the start of the Worker.
		const timeoutMs = 30_000 + 2 * cleanMs;
		const confirm = stage > 0;
		const { verdict, failure } = await sandbox.judge(mutant.file, mutant, { tests, timeoutMs, confirm });
		if (verdict === "survived") continue;
		// The tests beside the code have a gap.
		if (stage >= NEAR_STAGES) console.log(`\nfound by ${failure}\n          ${describe(mutant)}`);
		return verdict;
	}
	return "survived";
}

/**
 * Runs each test file once without a mutant and records its duration: tests that fail would kill every mutant. Failed tests run a second
 * time, because they may fail once on a busy machine.
 */
async function runClean(
	sandbox: Sandbox,
	tests: readonly string[],
	durations: Map<string, number>,
): Promise<void> {
	let failures: TestRun["failures"] = {};
	for (let attempt = 1; ; attempt++) {
		const missing = tests.filter((test) => !durations.has(test));
		if (missing.length === 0) return;
		if (attempt > 2)
			stopWith(
				`\nTests fail without a mutant:\n${
					Object.entries(failures)
						.map((failure) => failure.join(": "))
						.join("\n") || `vitest cannot run ${missing.join(" ")}`
				}`,
			);
		const run = await sandbox.run(missing);
		if (run === "timeout") stopWith(`\nTests without a mutant do not end: ${missing.join(" ")}`);
		if (run === "broken") continue;
		failures = run.failures;
		for (const [test, milliseconds] of Object.entries(run.milliseconds)) durations.set(test, milliseconds);
	}
}

function describe({ file, line, original, replacement }: Candidate): string {
	const short = (part: string): string => part.replaceAll(/\s+/g, " ").slice(0, 70);
	return `${file}:${line}  ${short(original)}  ->  ${short(replacement) || "(nothing)"}`;
}
