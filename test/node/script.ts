/** A script of the project, run as a stranger runs it, and what it says. */
import { type ChildProcess, spawn } from "node:child_process";
import { endWithThisProcess } from "../../scripts/parent.ts";

const children = new Set<ChildProcess>();

export interface Script {
	/** All that it said so far, as soon as that matches, or when it has ended. */
	until(pattern: RegExp): Promise<string>;
	exit: Promise<number | null>;
	/** `group`: all of its process group. */
	kill(signal: NodeJS.Signals, to?: "group"): void;
	pid: number;
}

interface Options {
	env?: Record<string, string>;
	/** By this script of npm's, instead of by node. */
	npm?: string;
	/** In a process group of its own, as a terminal's commands are. */
	group?: boolean;
}

export function runScript(file: string, args: string[], { env = {}, npm, group }: Options = {}): Script {
	const [command, first] =
		npm === undefined ? [process.execPath, [file]] : ["npm", ["run", "--silent", npm, "--"]];
	const child = spawn(command, [...first, ...args], {
		stdio: ["ignore", "pipe", "pipe"],
		env: { ...process.env, ...env },
		detached: group ?? false,
	});
	children.add(child);
	// A run of Vitest that is stopped calls neither `afterEach` nor the end of a global setup.
	endWithThisProcess(child);
	let output = "";
	const exit = new Promise<number | null>((done) => child.once("exit", done));
	const listeners = new Set<() => void>();
	for (const stream of [child.stdout, child.stderr])
		stream.on("data", (chunk) => {
			output += chunk;
			for (const listener of listeners) listener();
		});
	return {
		exit,
		pid: child.pid ?? 0,
		kill: (signal, to) => void process.kill(to === "group" ? -(child.pid ?? 0) : (child.pid ?? 0), signal),
		until: (pattern) =>
			new Promise((done) => {
				const check = () => pattern.test(output) && done(output);
				listeners.add(check);
				exit.then(() => done(output));
				check();
			}),
	};
}

/** After each test: whatever it left running. */
export function stopScripts(): void {
	for (const child of children) child.kill("SIGTERM");
	children.clear();
}
