/** The floor: a bare Worker, alone and behind the connection guard. */
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { GuardSettings } from "../../cli/guard.ts";
import { stop } from "../../scripts/child.ts";
import { freePort } from "../../scripts/free-port.ts";
import { GUARD_SETTINGS } from "../../scripts/internal-names.ts";
import { endWithThisProcess } from "../../scripts/parent.ts";
import { listening, serve } from "../../scripts/workerd.ts";
import { floorSpec } from "../bench/floor.ts";

const MAX_CONNECTIONS = 100;
const IDLE_MS = 600_000;

export interface BareWorker {
	port: number;
	stop(): Promise<void>;
}

/** @param folder an empty folder of this Worker. */
export async function startBareWorker(upstream: string, folder: string): Promise<BareWorker> {
	const port = await freePort();
	const served = await serve(floorSpec(upstream), port, folder);
	return { port, stop: () => served.stop() };
}

/** The guard is in a process of its own, as in a gateway with several workers. */
export async function startGuardedWorker(upstream: string, folder: string): Promise<BareWorker> {
	mkdirSync(folder, { recursive: true });
	const port = await freePort();
	const target = join(folder, "http.sock");
	const served = await serve({ ...floorSpec(upstream), unixSocket: target }, port, folder);
	const settings: Omit<GuardSettings, "countsSocket"> = {
		...{ host: "127.0.0.1", port, target },
		...{ maxConnections: MAX_CONNECTIONS, idleMs: IDLE_MS },
	};
	const guard = spawn(process.execPath, [resolve("cli/guard.ts")], {
		env: { ...process.env, [GUARD_SETTINGS]: JSON.stringify(settings) },
		stdio: "inherit",
	});
	endWithThisProcess(guard);
	await listening({ port }, guard);
	return {
		port,
		async stop() {
			await stop(guard);
			await served.stop();
		},
	};
}
