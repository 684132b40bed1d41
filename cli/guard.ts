/** The connection guard of one worker, in a process of its own. It ends with the process that started it. */
import { guardConnections } from "../scripts/connection-guard.ts";

export interface GuardSettings {
	host: string;
	port: number;
	/** The worker's Unix socket. */
	target: string;
	maxConnections: number;
	idleMs: number;
}

// `startGuards` wrote it.
const { idleMs, ...settings } = JSON.parse(process.env.GANGLION_GUARD ?? "") as GuardSettings;
let currentIdleMs = idleMs;
process.on("message", (message: Pick<GuardSettings, "idleMs">) => {
	currentIdleMs = message.idleMs;
});
// Running answers pass through it until the worker has stopped.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
await guardConnections({ ...settings, idleMs: () => currentIdleMs });
