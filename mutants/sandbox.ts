/**
 * A copy of the project in which one file at a time is wrong. It lies in the project's folder, so that the copy finds the
 * installed packages, and is removed at the end.
 */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Mutant } from "./operators.ts";

/** `killed`: a test failed. `survived`: all passed. `timeout`: the tests did not end, which a person would notice, too. */
export type Verdict = "killed" | "survived" | "timeout";

/** Longer than any set of tests takes on a busy machine. */
const TIMEOUT_MS = 300_000;

export class Sandbox {
	readonly #root: string;
	readonly #folder: string;

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

	/** The tests' verdict on the file with this bug. The file is restored. */
	async judge(file: string, { start, end, replacement }: Mutant, tests: readonly string[]): Promise<Verdict> {
		const path = join(this.#folder, file);
		const source = readFileSync(path, "utf8");
		writeFileSync(path, source.slice(0, start) + replacement + source.slice(end));
		try {
			return await this.run(tests);
		} finally {
			writeFileSync(path, source);
		}
	}

	/** @param args of vitest: test files, or `related` and sources. */
	run(args: readonly string[]): Promise<Verdict> {
		const command = args[0] === "related" ? [...args, "--run"] : ["run", ...args];
		const vitest = join(this.#root, "node_modules/vitest/vitest.mjs");
		const child = spawn(process.execPath, [vitest, ...command, "--project", "worker", "--bail", "1"], {
			cwd: this.#folder,
			stdio: "ignore",
			// Its workers are ended with it.
			detached: true,
		});
		return new Promise((resolve) => {
			const timer = setTimeout(() => {
				resolve("timeout");
				if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
			}, TIMEOUT_MS);
			child.once("exit", (code) => {
				clearTimeout(timer);
				resolve(code === 0 ? "survived" : "killed");
			});
		});
	}

	remove(): void {
		rmSync(this.#folder, { recursive: true, force: true });
	}
}
