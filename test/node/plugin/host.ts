/** A tool of the caller's, such as `wrangler dev`, as a process that is gone when the test is. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { Project } from "./installed.ts";

export interface Host {
	/** Everything it has said until it says `pattern`, or until it ends. */
	said(pattern: RegExp): Promise<string>;
	/** Its exit code, and everything it has said. */
	ended: Promise<{ code: number | null; output: string }>;
}

const children: ChildProcess[] = [];

/** The whole group: these tools start processes of their own. */
export function stopHosts(): void {
	for (const { pid } of children.splice(0)) {
		if (pid === undefined) continue;
		try {
			process.kill(-pid, "SIGKILL");
		} catch {
			// It ended by itself.
		}
	}
}

/** Runs a script of an installed package, or of the project, on this very Node. */
export function start(
	{ env, folder }: Pick<Project, "env" | "folder">,
	script: string,
	...args: string[]
): Host {
	const child = spawn(process.execPath, [join(folder, script), ...args], {
		cwd: folder,
		env: env as NodeJS.ProcessEnv,
		stdio: ["ignore", "pipe", "pipe"],
		detached: true,
	});
	children.push(child);
	let output = "";
	const listeners = new Set<() => void>();
	const ended = new Promise<{ code: number | null; output: string }>((done) =>
		child.once("close", (code) => done({ code, output })),
	);
	for (const stream of [child.stdout, child.stderr])
		stream.on("data", (chunk: Buffer) => {
			output += chunk;
			for (const listener of listeners) listener();
		});
	const said = (pattern: RegExp): Promise<string> =>
		new Promise((done) => {
			const check = () => pattern.test(output) && done(output);
			listeners.add(check);
			ended.then(() => done(output));
			check();
		});
	return { ended, said };
}
