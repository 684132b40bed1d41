/** Ends of processes whose parent ends. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { isRunning } from "./child.ts";

const CHECK_MS = 250;

/** Whether npm has started this process: `npx ganglion`, or a script of a package. */
export const isStartedByNpm = (): boolean => process.env.npm_command !== undefined;

/**
 * Calls `action` once, when the parent process has exited. npm forwards a signal to the shell that it has started, and the shell exits
 * without forwarding it. Without this check the command would remain. A shell also outlives an npm that is killed, so the parents of
 * shells are watched, too.
 */
export function whenParentExits(action: () => void): void {
	const parent = process.ppid;
	const above = parentsOfShells(parent);
	const timer = setInterval(() => {
		if (process.ppid === parent && above.every(isRunning)) return;
		clearInterval(timer);
		action();
	}, CHECK_MS);
	timer.unref();
}

const SHELL = /^-?(?:ash|bash|busybox|dash|ksh|sh|zsh)$/;

/** From the parent of the process, if that is a shell, to the first one that is none. */
function parentsOfShells(pid: number): number[] {
	const above: number[] = [];
	for (let at = processOf(pid); at && SHELL.test(at.name) && at.parent > 1; at = processOf(at.parent))
		above.push(at.parent);
	return above;
}

/** `undefined`: it has exited, or the system does not show it. */
function processOf(pid: number): { name: string; parent: number } | undefined {
	try {
		const text =
			process.platform === "linux"
				? readFileSync(`/proc/${pid}/stat`, "utf8")
				: execFileSync("ps", ["-o", "pid=,comm=,state=,ppid=", "-p", String(pid)], { encoding: "utf8" });
		// `stat` has the name in parentheses. macOS shows its path.
		const [, path = "", parent] = /^\s*\d+ \(?(.*?)\)? +\S+ +(\d+)(?: |$)/m.exec(text) ?? [];
		return { name: basename(path), parent: Number(parent) };
	} catch {
		return undefined;
	}
}

/** It reads until the pipe ends, so it costs nothing before. The process has a second to end by itself. */
const END_AFTER_PIPE = `read -r _; kill -TERM "$1" && sleep 1 && kill -KILL "$1"; [ -z "$2" ] || rm -rf -- "$2"`;

/**
 * Ends a child when this process is killed, which no handler of this process can do: a shell waits for the end of a pipe that only this
 * process holds. It removes `folder`, which this process would remove at its end.
 */
export function endWithThisProcess(child: ChildProcess, folder = ""): void {
	if (process.platform === "win32" || child.pid === undefined) return;
	const watcher = spawn("/bin/sh", ["-c", END_AFTER_PIPE, "sh", String(child.pid), folder], {
		stdio: ["pipe", "ignore", "ignore"],
		// A terminal's Ctrl-C is for the command.
		detached: true,
	});
	// Without a shell the child stays, as it would without this.
	watcher.on("error", () => {});
	watcher.unref();
	// Its process id may have another owner later.
	child.once("exit", () => watcher.kill("SIGKILL"));
}
