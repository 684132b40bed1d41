/**
 * A copy of the project in which one file at a time has a mutant. It is in the project's folder, so that it finds the installed packages.
 * It stays there with the transformed modules, because a first start without them takes half a minute.
 */
import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Mutant } from "./operators.ts";
import type { Job, TestRun } from "./runner.ts";

/** `killed`: a test failed. `survived`: all tests passed. `timeout`: the tests did not end, which counts as killed. */
export type Verdict = "killed" | "survived" | "timeout";

export interface Judgement {
	verdict: Verdict;
	/** What the verdict follows from: a test and its error. */
	failure?: string;
}

/** `broken`: vitest has exited, because it could not run all tests. */
type NoTestRun = "timeout" | "broken";

export interface JudgeOptions {
	tests: readonly string[];
	timeoutMs: number;
	/** A failure counts only if the test fails alone, too: many tests in one Worker may disturb each other. */
	confirm: boolean;
}

/**
 * The verdict of the tests that `run` runs. A mutant counts as killed only if a test finds it. On a busy machine vitest itself may fail:
 * then the tests run a second time, and a second such end shows nothing.
 */
export async function verdictOf(
	run: (tests: readonly string[]) => Promise<TestRun | NoTestRun>,
	{ tests, confirm }: Pick<JudgeOptions, "tests" | "confirm">,
): Promise<Judgement> {
	const runUnbroken = async (some: readonly string[]): Promise<TestRun | NoTestRun> => {
		const first = await run(some);
		return first === "broken" ? run(some) : first;
	};
	let remaining = tests;
	while (remaining.length > 0) {
		const result = await runUnbroken(remaining);
		if (result === "timeout") return { verdict: result, failure: "a timeout" };
		const [failure] = result === "broken" ? [] : Object.entries(result.failures);
		if (!failure) break;
		const [test, error] = failure;
		const killed: Judgement = { verdict: "killed", failure: `${test}: ${error}` };
		if (!confirm || test === "") return killed;
		const again = await runUnbroken([test]);
		if (again === "timeout") return { verdict: again, failure: `a timeout of ${test}` };
		if (again !== "broken" && Object.keys(again.failures).length > 0) return killed;
		remaining = remaining.filter((other) => other !== test);
	}
	return { verdict: "survived" };
}

/** More than the tests of all areas need on a busy machine. */
const TIMEOUT_MS = 600_000;

export class Sandbox {
	readonly #root: string;
	readonly #folder: string;
	#runner: ChildProcess | undefined;

	constructor(root: string) {
		this.#root = root;
		this.#folder = join(root, ".mutants");
		const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root });
		const files = listed
			.toString()
			.split("\n")
			.filter((file) => file && existsSync(join(root, file)));
		for (const file of files) this.#copy(file);
		// Files of an earlier copy. `dist` and the cache are not listed.
		const known = new Set(files);
		const old = globSync("{src,test}/**/*.ts", { cwd: this.#folder }).filter((file) => !known.has(file));
		for (const file of old) rmSync(join(this.#folder, file));
		if (existsSync(join(root, "dist")))
			cpSync(join(root, "dist"), join(this.#folder, "dist"), { recursive: true });
	}

	#copy(file: string): void {
		const [from, to] = [join(this.#root, file), join(this.#folder, file)];
		if (existsSync(to) && readFileSync(from).equals(readFileSync(to))) return;
		mkdirSync(dirname(to), { recursive: true });
		cpSync(from, to);
	}

	/** The tests' verdict on the file with this mutant. The file is restored. */
	async judge(
		file: string,
		{ start, end, replacement }: Mutant,
		{ tests, timeoutMs, confirm }: JudgeOptions,
	): Promise<Judgement> {
		const path = join(this.#folder, file);
		const source = readFileSync(path, "utf8");
		writeFileSync(path, source.slice(0, start) + replacement + source.slice(end));
		try {
			return await verdictOf((some) => this.run(some, { file: path, timeoutMs }), { tests, confirm });
		} finally {
			writeFileSync(path, source);
		}
	}

	/** @param file the source that has a mutant, absolute. */
	run(
		tests: readonly string[],
		{ file, timeoutMs = TIMEOUT_MS }: { file?: string; timeoutMs?: number } = {},
	): Promise<TestRun | NoTestRun> {
		const runner =
			this.#runner ??
			fork(join(this.#root, "tools/mutants/runner.ts"), [], {
				cwd: this.#folder,
				stdio: ["ignore", "ignore", "ignore", "ipc"],
				detached: true,
			});
		this.#runner = runner;
		const job: Job = { root: this.#folder, tests, ...(file !== undefined && { file }) };
		return new Promise((resolve) => {
			const end = (run: TestRun | NoTestRun): void => {
				clearTimeout(timer);
				runner.removeAllListeners();
				resolve(run);
			};
			const timer = setTimeout(() => {
				this.stop();
				end("timeout");
			}, timeoutMs);
			runner.once("message", end);
			runner.once("exit", () => {
				this.#runner = undefined;
				end("broken");
			});
			runner.send(job);
		});
	}

	stop(): void {
		if (this.#runner) endGroup(this.#runner);
		this.#runner = undefined;
	}
}

/** A process and its workers. */
function endGroup({ pid }: ChildProcess): void {
	if (pid !== undefined) process.kill(-pid, "SIGKILL");
}
