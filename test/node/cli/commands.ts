/**
 * The process of `shared-process.ts`: answers each message with the result of that command of the built `ganglion`. The entry file is loaded
 * anew for each command, and what it imports once.
 */
import { pathToFileURL } from "node:url";
import type { Result } from "./run.ts";

export interface Command {
	/** The entry file. */
	cli: string;
	args: readonly string[];
	cwd: string;
	env: NodeJS.ProcessEnv;
}

class Ended extends Error {}

const output = { stdout: "", stderr: "" };
let code: number | undefined;
for (const name of ["stdout", "stderr"] as const)
	process[name].write = (chunk: string | Uint8Array) => {
		if (code === undefined) output[name] += chunk;
		return true;
	};
process.exit = (exitCode) => {
	code ??= Number(exitCode ?? 0);
	throw new Ended();
};

let commands = 0;
process.on("message", async ({ cli, args, cwd, env }: Command) => {
	Object.assign(output, { stdout: "", stderr: "" });
	code = undefined;
	process.chdir(cwd);
	process.env = env;
	process.argv = [process.execPath, cli, ...args];
	await import(`${pathToFileURL(cli)}?command=${++commands}`).catch((error: unknown) => {
		if (!(error instanceof Ended)) throw error;
	});
	const result: Result = { code: code ?? 0, ...output };
	process.send?.(result);
});
