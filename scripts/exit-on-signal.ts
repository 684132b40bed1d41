/** Signals as an exit: a signal that nothing handles would end this process without its `exit` handlers, which stop what it has started. */
import { constants } from "node:os";

/** 128 and the number of the signal, as shells report it. */
export function exitOnSignals(): void {
	for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
		process.once(signal, () => process.exit(128 + constants.signals[signal]));
}
