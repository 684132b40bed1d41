/** How much a thread ran, by the system's scheduler. Linux only. */
import { readFileSync } from "node:fs";

/** Nanoseconds since the start of the thread. */
export interface Schedule {
	/** On a core. */
	running: number;
	/** Ready, without a core. */
	waiting: number;
}

/** `thread`: its folder in `/proc`. A thread that has ended never ran. */
export function scheduleOf(thread: string): Schedule {
	try {
		const [running = 0, waiting = 0] = readFileSync(`${thread}/schedstat`, "utf8").split(" ").map(Number);
		return { running, waiting };
	} catch {
		return { running: 0, waiting: 0 };
	}
}

/** The part of the time with work in which the thread ran. Little: other threads starved it. */
export function ranShare(before: Schedule, after: Schedule): number {
	const running = after.running - before.running;
	return running / (running + after.waiting - before.waiting);
}
