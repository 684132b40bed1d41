/**
 * The limit of open files, which `workerd` does not survive when it is reached. It holds for this process, which has the
 * sockets of the connection guard, and for the runtime that it starts.
 */
import { spawnSync } from "node:child_process";

/** As many as a busy gateway needs. */
const DEFAULT_FILES = 65_536;
/** Below this the banner says how to raise the limit. */
const LOW = 8_192;

/**
 * How many files this process, and each process that it starts, may open: `setting` (`OPEN_FILES`), or 65,536 and more,
 * where the system allows it. Raises the limit of this process. `undefined` on Windows, which has no such limit.
 */
export function reachFileLimit(setting?: number): number | undefined {
	if (process.platform === "win32") return undefined;
	const wanted = setting ?? DEFAULT_FILES;
	// At its start Node has raised its limit to the hard limit, which only root may raise.
	if (ownLimit() < wanted) spawnSync("prlimit", [`--pid=${process.pid}`, `--nofile=${wanted}`]);
	const own = ownLimit();
	return Number.isFinite(own) ? Math.min(own, setting ?? own) : wanted;
}

/** Infinite where the system names no number. */
function ownLimit(): number {
	const { stdout } = spawnSync("/bin/sh", ["-c", "ulimit -n"], { encoding: "utf8" });
	return Number.parseInt(stdout, 10) || Number.POSITIVE_INFINITY;
}

/** The command, started with this limit. */
export const withFileLimit = (files: number | undefined, command: readonly string[]): readonly string[] =>
	files === undefined ? command : ["/bin/sh", "-c", 'ulimit -n "$0"; exec "$@"', String(files), ...command];

/** For the banner. */
export function describeFileLimit(files: number | undefined, connections: number): string {
	if (files === undefined) return "";
	const most = `at most ${connections} connections at once, further ones get 503`;
	if (files >= LOW) return `  Open files: ${files}, so ${most}\n`;
	return `
  Open files are limited to ${files}: ${most}.
    Raise the limit: ulimit -n ${DEFAULT_FILES}, or LimitNOFILE=${DEFAULT_FILES} of systemd (docs/self-hosting.md)
`;
}
