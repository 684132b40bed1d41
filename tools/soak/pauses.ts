/** Pauses of the gateway's processes: its machine sleeps, or gives it no time. Nothing is lost, but the time of its reservations passes. */
import { execFileSync } from "node:child_process";
import { codeOf } from "../../scripts/file-failure.ts";

export interface Pause {
	at: number;
	/** When the gateway answered again. */
	upAt: number;
}

/** Milliseconds from one time to another in which the gateway was not paused. Negative if `until` is the earlier one. */
export function runningMs(from: number, until: number, pauses: readonly Pause[]): number {
	const paused = pauses.map(({ at, upAt }) => Math.min(upAt, until) - Math.max(at, from));
	return paused.reduce((running, ms) => running - Math.max(0, ms), until - from);
}

/** The process and all that it has started, each after its parent. */
export function processTree(root: number): number[] {
	const listed = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
	const processes = listed
		.trim()
		.split("\n")
		.map((line) => line.trim().split(/\s+/).map(Number));
	const tree = [root];
	for (const parent of tree) for (const [pid = 0, above] of processes) if (above === parent) tree.push(pid);
	return tree;
}

/** One may have ended by itself. */
export function signalAll(pids: readonly number[], signal: "SIGSTOP" | "SIGCONT"): void {
	for (const pid of pids)
		try {
			process.kill(pid, signal);
		} catch (error) {
			if (codeOf(error) !== "ESRCH") throw error;
		}
}
