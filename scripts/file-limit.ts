/**
 * The limit of open files. `workerd` exits when it reaches the limit. It applies to this process, which has the sockets of the
 * connection guard, and to the runtime that it starts.
 */
import { spawnSync } from "node:child_process";

/** Enough for a busy gateway. */
const DEFAULT_FILES = 65_536;
/** The runtime opens 110 files at its start, and fails later with few more (observed with workerd 1.20261102: 128 fail, 160 suffice). */
const MIN_FILES = 256;
/** Below this number the start message explains how to raise the limit. */
export const LOW_FILE_LIMIT = 8_192;

/**
 * Raises the limit of this process and of the processes that it starts, if the system allows it: to `setting` (`OPEN_FILES`), or to at
 * least 65,536. Returns the limit. `undefined` on Windows, which has no such limit.
 */
export function reachFileLimit(setting?: number): number | undefined {
	if (process.platform === "win32") return undefined;
	const target = setting ?? DEFAULT_FILES;
	// Node raises its limit to the hard limit at its start. Only root may raise the hard limit.
	if (openFileLimit() < target) spawnSync("prlimit", [`--pid=${process.pid}`, `--nofile=${target}`]);
	const current = openFileLimit();
	return Number.isFinite(current) ? Math.min(current, setting ?? current) : target;
}

/** Infinite if the system reports no number. */
export function openFileLimit(): number {
	const { stdout } = spawnSync("/bin/sh", ["-c", "ulimit -n"], { encoding: "utf8" });
	return Number.parseInt(stdout, 10) || Number.POSITIVE_INFINITY;
}

/** The reason to refuse the start. `undefined`: `files` are enough. */
export function fileLimitRefusal(files: number | undefined): string | undefined {
	if (files === undefined || files >= MIN_FILES) return undefined;
	return `open files are limited to ${files}, but the gateway needs ${MIN_FILES} or more: raise the limit (ulimit -n ${DEFAULT_FILES}), or OPEN_FILES if it is set (docs/self-hosting.md#open-files)`;
}

/** The command, with this limit. */
export const withFileLimit = (files: number | undefined, command: readonly string[]): readonly string[] =>
	files === undefined ? command : ["/bin/sh", "-c", 'ulimit -n "$0"; exec "$@"', String(files), ...command];

/** For the start message. */
export function describeFileLimit(files: number | undefined, connections: number): string {
	if (files === undefined) return "";
	const limits = `at most ${connections} connections at the same time, others get 503`;
	if (files >= LOW_FILE_LIMIT) return `  Open files: ${files}, so ${limits}\n`;
	return `
  Open files are limited to ${files}: ${limits}.
    Raise the limit: ulimit -n ${DEFAULT_FILES}, or LimitNOFILE=${DEFAULT_FILES} for systemd (docs/self-hosting.md)
`;
}
