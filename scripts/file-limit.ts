/** The limit of open files, which `workerd` does not survive when it is reached. */
import { spawnSync } from "node:child_process";

/** As many as a busy gateway needs; the limit is raised to it where the system allows. */
const WANTED = 65_536;
/** Below this the connections of callers are counted before they reach the runtime. */
const LOW = 8_192;
/** Set by an operator who wants the limit as it is. */
const KEEP = "GANGLION_KEEP_FILE_LIMIT";

export interface FileLimit {
	/** Absent where the system has no such limit, as on Windows. */
	files?: number;
	isLow: boolean;
}

/** The limit that a child process can have. Only root may go above the hard limit. */
export function reachableFileLimit(env: NodeJS.ProcessEnv = process.env): FileLimit {
	if (process.platform === "win32") return { isLow: false };
	const raise = `now=$(ulimit -n); [ "$now" = unlimited ] || [ "$now" -ge ${WANTED} ] || ulimit -n ${WANTED} 2>/dev/null || ulimit -n "$(ulimit -Hn)" 2>/dev/null;`;
	const { stdout } = spawnSync("/bin/sh", ["-c", `${env[KEEP] ? "" : raise} ulimit -n`], {
		encoding: "utf8",
	});
	const files = Number(stdout.trim());
	return Number.isInteger(files) && files > 0 ? { files, isLow: files < LOW } : { isLow: false };
}

/** The command, started with this limit. */
export const withFileLimit = (files: number | undefined, command: readonly string[]): readonly string[] =>
	files === undefined ? command : ["/bin/sh", "-c", 'ulimit -n "$0"; exec "$@"', String(files), ...command];

/** For the banner: nothing where the limit is high. */
export function describeFileLimit({ files, isLow }: FileLimit, connections: number): string {
	if (!isLow) return "";
	return `
  Open files are limited to ${files}: at most ${connections} connections at once, further ones get 503.
    Raise the limit: ulimit -n ${WANTED}, or LimitNOFILE=${WANTED} of systemd (docs/self-hosting.md)
`;
}
