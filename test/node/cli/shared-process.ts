/** Runs commands of the built `ganglion` in one process, because the start of a process for each takes most of their CPU. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { afterAll } from "vitest";
import type { Command } from "./commands.ts";
import { CLI, environment, type Result } from "./run.ts";

const PROCESS = resolve("test/node/cli/commands.ts");

/**
 * As `ganglion`, but the commands of a test file run one after the other. For those that only call a gateway, and read and write files: what a
 * command leaves to the end of its process is not done.
 */
export function sharedProcess(): (
	args: readonly string[],
	options?: { env?: Record<string, string>; cwd?: string },
) => Promise<Result> {
	let child: ChildProcess | undefined;
	const ended = new AbortController();
	let last: Promise<unknown> = Promise.resolve();
	afterAll(() => void child?.kill());

	async function run(command: Command): Promise<Result> {
		child ??= fork(PROCESS, { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] }).once(
			"exit",
			() => ended.abort(new Error("The process of the commands has ended")),
		);
		child.send(command);
		const [result] = await once(child, "message", { signal: ended.signal });
		return result;
	}
	return (args, { env = {}, cwd = process.cwd() } = {}) => {
		const command = { cli: CLI, args, cwd, env: environment(env) };
		const result = last.then(() => run(command));
		last = result.catch(() => undefined);
		return result;
	};
}
