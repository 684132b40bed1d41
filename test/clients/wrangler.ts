/** The published `wrangler` on the gateway of all clients, of which only the address is changed. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { resolve } from "node:path";
import { createInterface, type Interface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { afterAll, inject } from "vitest";
import { ACCOUNT } from "./gateway.ts";

interface Output {
	code: number;
	stdout: string;
	stderr: string;
}

const environment = (home: string): Record<string, string> => ({
	PATH: process.env.PATH ?? "",
	HOME: home,
	NO_COLOR: "1",
	NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "",
	WRANGLER_SEND_METRICS: "false",
	CLOUDFLARE_API_BASE_URL: inject("baseURL"),
	CLOUDFLARE_API_TOKEN: "none",
	CLOUDFLARE_ACCOUNT_ID: ACCOUNT,
});

export const wranglerEnv = (home: string) => environment(home) as NodeJS.ProcessEnv;

/**
 * Runs `wrangler COMMAND …` in the folder. The commands of a test file run one after the other in one process, because the 10 MB of source
 * take a second of CPU to load. Rejects with the output of a command that fails.
 */
export function wranglerIn(home: string, command: string): (...args: string[]) => Promise<Output> {
	let child: ChildProcessByStdio<Writable, Readable, null> | undefined;
	let answers: Interface;
	let last: Promise<unknown> = Promise.resolve();
	afterAll(() => void child?.kill());

	function start(): void {
		const script = resolve("test/clients/wrangler-commands.ts");
		const stdio: ["pipe", "pipe", "inherit"] = ["pipe", "pipe", "inherit"];
		child = spawn(process.execPath, ["--no-warnings", script], { cwd: home, env: wranglerEnv(home), stdio });
		answers = createInterface({ input: child.stdout });
	}
	async function run(args: string[]): Promise<Output> {
		if (child === undefined || child.exitCode !== null) start();
		const { promise, resolve: done, reject } = Promise.withResolvers<string>();
		answers.once("line", done);
		answers.once("close", () => reject(new Error(`wrangler ${command} ${args.join(" ")} ended its process`)));
		child?.stdin.write(`${JSON.stringify([command, ...args])}\n`);
		const output: Output = JSON.parse(await promise);
		if (output.code !== 0) throw Object.assign(new Error(output.stderr), output);
		return output;
	}
	return (...args) => {
		const output = last.then(() => run(args));
		last = output.catch(() => undefined);
		return output;
	};
}
