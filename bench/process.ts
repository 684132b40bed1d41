/** What the kernel says of a process. Linux only: elsewhere there is no cheap way to read it, and the bench says so. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const TICKS_PER_SECOND = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** Microseconds of CPU, user and system, of all threads. The kernel counts in ticks of 10 ms: measure for seconds. */
export function cpuMicroseconds(pid: number): number {
	// The name of a program may hold anything but is in parentheses.
	const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
	const [user, system] = [Number(fields[11]), Number(fields[12])];
	return ((user + system) / TICKS_PER_SECOND) * 1e6;
}

/** Bytes that are really there. */
export function residentBytes(pid: number): number {
	const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
	return Number(line?.[1] ?? 0) * 1024;
}
