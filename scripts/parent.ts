/** Stops of a command that npm has started. */

const CHECK_MS = 250;

/** Whether npm has started this process: `npx ganglion`, or a script of a package. */
export const isStartedByNpm = (): boolean => process.env.npm_command !== undefined;

/**
 * Calls `action` once, when the parent process has exited. npm forwards a signal to the shell that it has started, and the shell exits
 * without forwarding it. Without this check the command would remain.
 */
export function whenParentExits(action: () => void): void {
	const parent = process.ppid;
	const timer = setInterval(() => {
		if (process.ppid === parent) return;
		clearInterval(timer);
		action();
	}, CHECK_MS);
	timer.unref();
}
