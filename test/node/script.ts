/** A script of the project, run as a stranger runs it, and what it says. */
import { type ChildProcess, spawn } from "node:child_process";

const children = new Set<ChildProcess>();

export interface Script {
	/** All that it said so far, as soon as that matches, or when it has ended. */
	until(pattern: RegExp): Promise<string>;
	exit: Promise<number | null>;
	kill(signal: NodeJS.Signals): void;
}

export function runScript(file: string, args: string[], env: Record<string, string> = {}): Script {
	const child = spawn(process.execPath, [file, ...args], {
		stdio: ["ignore", "pipe", "pipe"],
		env: { ...process.env, ...env },
	});
	children.add(child);
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
		kill: (signal) => child.kill(signal),
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
