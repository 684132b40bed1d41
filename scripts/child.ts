/** Whether processes run, and the end of those that this one has started. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { codeOf } from "./file-failure.ts";

/** By itself or by a signal: one that a signal has ended has no exit code. */
export const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
	exitCode !== null || signalCode !== null;

/** Kills it and waits for its end. */
export async function stop(child: ChildProcess): Promise<void> {
	if (hasEnded(child)) return;
	const ended = once(child, "exit");
	// One in the background would not keep this process running until it has ended.
	child.ref();
	child.kill("SIGKILL");
	await ended;
}

/** Also one that this process has not started. */
export function isRunning(pid: number): boolean {
	if (!(pid > 0)) return false;
	try {
		return process.kill(pid, 0);
	} catch (error) {
		// It belongs to another user.
		return codeOf(error) === "EPERM";
	}
}
