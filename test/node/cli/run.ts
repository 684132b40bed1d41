/** Runs the built `ganglion` and collects its output. */
import { execFile } from "node:child_process";
import { resolve } from "node:path";

export interface Result {
	code: number;
	stdout: string;
	stderr: string;
}

export const CLI = resolve("dist/cli/index.js");

interface Options {
	env?: Record<string, string>;
	cwd?: string;
	/** Instead of the Node of this process. */
	node?: string;
	cli?: string;
}

/** The address and the token of this process's own gateway are not passed on. */
export function environment(env: Record<string, string>): NodeJS.ProcessEnv {
	const { GANGLION_URL: _, GANGLION_TOKEN: __, ...inherited } = process.env;
	return { ...inherited, NO_COLOR: "1", ...env };
}

export function ganglion(
	args: readonly string[],
	{ env = {}, cwd, node = process.execPath, cli = CLI }: Options = {},
): Promise<Result> {
	return new Promise((done) => {
		const options = { env: environment(env), ...(cwd !== undefined && { cwd }) };
		const child = execFile(node, [cli, ...args], options, (error, stdout, stderr) => {
			done({ code: error ? (child.exitCode ?? 1) : 0, stdout, stderr });
		});
	});
}
