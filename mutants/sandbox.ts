/**
 * A copy of the project in which one file at a time has a mutant. It is in the project's folder, so that it finds the installed packages.
 * It is removed at the end.
 */
import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Mutant } from "./operators.ts";
import type { Job, TestRun } from "./runner.ts";

/** `killed`: a test failed. `survived`: all tests passed. `timeout`: the tests did not end, which counts as killed. */
export type Verdict = "killed" | "survived" | "timeout";

/** More than the tests of all areas need on a busy machine. */
const TIMEOUT_MS = 600_000;

export class Sandbox {
	readonly #root: string;
	readonly #folder: string;
	#runner: ChildProcess | undefined;

	constructor(root: string) {
		this.#root = root;
		this.#folder = join(root, ".mutants");
		rmSync(this.#folder, { recursive: true, force: true });
		const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root });
		for (const file of listed.toString().split("\n").filter(Boolean)) {
			if (!existsSync(join(root, file))) continue;
			mkdirSync(dirname(join(this.#folder, file)), { recursive: true });
			cpSync(join(root, file), join(this.#folder, file));
		}
		if (existsSync(join(root, "dist")))
			cpSync(join(root, "dist"), join(this.#folder, "dist"), { recursive: true });
	}

	/** The tests' verdict on the file with this mutant. The file is restored. */
	async judge(
		file: string,
		{ start, end, replacement }: Mutant,
		{ tests, timeoutMs }: { tests: readonly string[]; timeoutMs: number },
	): Promise<Verdict> {
		const path = join(this.#folder, file);
		const source = readFileSync(path, "utf8");
		writeFileSync(path, source.slice(0, start) + replacement + source.slice(end));
		try {
			const run = await this.run(tests, { file: path, timeoutMs });
			return run === "timeout" ? run : run.passed ? "survived" : "killed";
		} finally {
			writeFileSync(path, source);
		}
	}

	/** @param file the source that has a mutant, absolute. */
	run(
		tests: readonly string[],
		{ file, timeoutMs = TIMEOUT_MS }: { file?: string; timeoutMs?: number } = {},
	): Promise<TestRun | "timeout"> {
		const runner =
			this.#runner ??
			fork(join(this.#root, "mutants/runner.ts"), [], {
				cwd: this.#folder,
				stdio: ["ignore", "ignore", "ignore", "ipc"],
				detached: true,
			});
		this.#runner = runner;
		const job: Job = { root: this.#folder, tests, ...(file !== undefined && { file }) };
		return new Promise((resolve) => {
			const end = (run: TestRun | "timeout"): void => {
				clearTimeout(timer);
				runner.removeAllListeners();
				resolve(run);
			};
			const timer = setTimeout(() => {
				this.#stopRunner();
				end("timeout");
			}, timeoutMs);
			runner.once("message", end);
			// It exits by itself only if the tests cannot start.
			runner.once("exit", () => {
				this.#runner = undefined;
				end({ passed: false, milliseconds: {} });
			});
			runner.send(job);
		});
	}

	#stopRunner(): void {
		if (this.#runner) endGroup(this.#runner);
		this.#runner = undefined;
	}

	remove(): void {
		this.#stopRunner();
		rmSync(this.#folder, { recursive: true, force: true });
	}
}

/** A process and its workers. */
function endGroup({ pid }: ChildProcess): void {
	if (pid !== undefined) process.kill(-pid, "SIGKILL");
}
