/**
 * `npm run mutants`: how many small bugs the tests notice. Bugs are put into the sources one at a time, in a copy of the
 * project, and the tests that mirror the file are run: a few seconds for each bug.
 *
 *     npm run mutants -- --only src/accounts --sample 50 --seed 7
 *
 * Bugs that no test can see, because the program behaves the same, are listed in `equivalent.json` with the reason.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readOptions } from "../scripts/options.ts";
import { stopWith } from "../scripts/settings.ts";
import { ROOT } from "../scripts/worker.ts";
import { progressTo } from "../soak/progress.ts";
import { Random } from "../soak/random.ts";
import { type Mutant, mutantsOf } from "./operators.ts";
import { Sandbox, type Verdict } from "./sandbox.ts";
import { TESTS_OF } from "./tests-of.ts";

const DEFAULTS = {
	only: [
		"src/accounts",
		"src/fleet",
		"src/pipeline",
		"src/backends",
		"src/streams",
		"src/http/authenticate.ts",
		"src/http/body.ts",
	],
	sample: "100",
	seed: "1",
	"at-least": "95",
};
/** Its behaviour is a matter of taste. */
const SKIPPED = "src/backends/simulator/";

const USAGE = `npm run mutants -- [options]

  --only PATH       a file or folder to put bugs into; may be repeated (accounts, pipeline, backends, streams, authentication)
  --sample N        how many bugs, chosen at random (${DEFAULTS.sample}); 0 for all
  --seed N          of the choice (${DEFAULTS.seed})
  --at-least N      per cent that must be noticed, or the exit code is 1 (${DEFAULTS["at-least"]})
  --related         where the mirrored tests notice nothing, all worker tests that reach the file
  --list            names the bugs and runs nothing`;

interface Candidate extends Mutant {
	file: string;
}

/** Tests without a bug. */
interface Clean {
	verdict: Verdict;
	milliseconds: number;
}

interface Equivalent {
	file: string;
	/** The line with the bug's place, without its indentation. */
	line: string;
	replacement: string;
	reason: string;
}

const text = (byDefault: string) => ({ type: "string", default: byDefault }) as const;
const options = readOptions(
	{
		only: { type: "string", multiple: true },
		sample: text(DEFAULTS.sample),
		seed: text(DEFAULTS.seed),
		"at-least": text(DEFAULTS["at-least"]),
		related: { type: "boolean" },
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

const equivalents: Equivalent[] = JSON.parse(readFileSync(join(ROOT, "mutants/equivalent.json"), "utf8"));
const candidates = (options.only ?? DEFAULTS.only).flatMap(sourcesIn).flatMap(candidatesIn);
if (candidates.length === 0) stopWith("--only: there are no sources to put a bug into");
const chosen = choose(candidates.filter((candidate) => !isEquivalent(candidate)));
console.log(`${chosen.length} bugs of ${candidates.length}, seed ${seed}`);
if (options.list) {
	for (const candidate of chosen) console.log(describe(candidate));
	process.exit(0);
}
process.exit(await judgeAll(new Sandbox(ROOT)));

async function judgeAll(sandbox: Sandbox): Promise<number> {
	process.once("SIGINT", () => process.exit(130));
	process.once("exit", () => sandbox.remove());
	const progress = progressTo(process.stdout);
	const survivors: Candidate[] = [];
	const unmutated = new Map<string, Clean>();
	for (const [index, candidate] of chosen.entries()) {
		progress(index, chosen.length, `${candidate.file}:${candidate.line}`);
		if (await survives(sandbox, candidate, unmutated)) {
			survivors.push(candidate);
			console.log(`\nsurvived  ${describe(candidate)}`);
		}
	}
	const share = (100 * (chosen.length - survivors.length)) / chosen.length;
	console.log(
		`\n${chosen.length - survivors.length} of ${chosen.length} were noticed (${share.toFixed(1)} %).`,
	);
	for (const survivor of survivors) console.log(`  ${describe(survivor)}`);
	return share >= atLeast ? 0 : 1;
}

async function survives(
	sandbox: Sandbox,
	candidate: Candidate,
	unmutated: Map<string, Clean>,
): Promise<boolean> {
	for (const tests of [mirrored(candidate.file), options.related ? ["related", candidate.file] : []]) {
		if (tests.length === 0) continue;
		const key = tests.join(" ");
		// Tests that fail without a bug would notice every bug.
		const startedAt = Date.now();
		const clean = unmutated.get(key) ?? {
			verdict: await sandbox.run(tests),
			milliseconds: Date.now() - startedAt,
		};
		unmutated.set(key, clean);
		if (clean.verdict !== "survived") stopWith(`\nThe tests fail without a bug: vitest ${key}`);
		// An endless loop; the first run included the start of vitest.
		const timeoutMs = 20_000 + 4 * clean.milliseconds;
		if ((await sandbox.judge(candidate.file, candidate, { tests, timeoutMs })) !== "survived") return false;
	}
	return true;
}

/** The files of tests of a source: those that are listed, of its name, or in a folder of its name. */
function mirrored(file: string): readonly string[] {
	const known = TESTS_OF[file];
	if (known) return known;
	const place = file.replace(/^src\//, "test/").replace(/\.ts$/, "");
	const folder = dirname(place);
	const all = [`${place}.test.ts`, `${place}-*.test.ts`, `${place}/*.test.ts`];
	// A file without a test of its own is tested with its folder.
	const own = globSync(all, { cwd: ROOT });
	return own.length > 0 ? own : globSync([`${folder}/*.test.ts`, `${folder}.test.ts`], { cwd: ROOT });
}

function sourcesIn(path: string): string[] {
	if (!existsSync(join(ROOT, path))) stopWith(`--only: there is no ${path}`);
	const files = path.endsWith(".ts") ? [path] : globSync(`${path}/**/*.ts`, { cwd: ROOT });
	return files
		.filter((file) => !file.startsWith(SKIPPED) && basename(file) !== "worker-configuration.d.ts")
		.sort();
}

function candidatesIn(file: string): Candidate[] {
	return mutantsOf(file, readFileSync(join(ROOT, file), "utf8")).map((mutant) => ({ ...mutant, file }));
}

function choose(all: readonly Candidate[]): Candidate[] {
	if (sample === 0 || sample >= all.length) return [...all];
	const random = new Random(seed);
	const pool = [...all];
	return Array.from({ length: sample }, () => pool.splice(random.int(0, pool.length - 1), 1)).flat();
}

function isEquivalent({ file, line, replacement }: Candidate): boolean {
	const source = readFileSync(join(ROOT, file), "utf8").split("\n")[line - 1]?.trim();
	return equivalents.some(
		(known) => known.file === file && known.line === source && known.replacement === replacement,
	);
}

function describe({ file, line, original, replacement }: Candidate): string {
	const short = (part: string): string => part.replaceAll(/\s+/g, " ").slice(0, 70);
	return `${file}:${line}  ${short(original)}  ->  ${short(replacement) || "(nothing)"}`;
}
