/** CPU time and memory of a process, read from `/proc`. Linux only; the bench refuses to run elsewhere. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const TICKS_PER_SECOND = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** Microseconds of CPU, user and system, of all threads. The kernel counts in ticks of 10 ms, so measurements need seconds. */
export function cpuMicroseconds(pid: number): number {
	const fields = fieldsOf(pid);
	const [user, system] = [Number(fields[11]), Number(fields[12])];
	return ((user + system) / TICKS_PER_SECOND) * 1e6;
}

/** Resident memory in bytes. */
export function residentBytes(pid: number): number {
	const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
	return Number(line?.[1] ?? 0) * 1024;
}

/** The id of the process that started it. */
export const parentOf = (pid: number): number => Number(fieldsOf(pid)[1]);

/** From its state on. */
function fieldsOf(pid: number): string[] {
	// The program's name is in parentheses and may contain spaces.
	return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
}
