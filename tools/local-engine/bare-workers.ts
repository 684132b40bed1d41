/** A Worker of a few lines that passes everything on to an address: what the runtime itself takes. Alone, and behind the connection guard. */
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { GuardSettings } from "../../cli/guard.ts";
import { freePort } from "../../scripts/free-port.ts";
import { endWithThisProcess } from "../../scripts/parent.ts";
import { listening, type Served, serve, stop } from "../../scripts/workerd.ts";

const MAX_CONNECTIONS = 100;
const IDLE_MS = 600_000;

export interface BareWorker {
	port: number;
	stop(): Promise<void>;
}

/** @param folder an empty folder of this Worker. */
export async function startBareWorker(upstream: string, folder: string): Promise<BareWorker> {
	const port = await freePort();
	const served = await serveBare({ upstream, port, folder });
	return { port, stop: () => served.stop() };
}

/** The guard is in a process of its own, as in a gateway with several workers. */
export async function startGuardedWorker(upstream: string, folder: string): Promise<BareWorker> {
	mkdirSync(folder, { recursive: true });
	const port = await freePort();
	const target = join(folder, "http.sock");
	const served = await serveBare({ upstream, port, folder, unixSocket: target });
	const settings: Omit<GuardSettings, "countsSocket"> = {
		...{ host: "127.0.0.1", port, target },
		...{ maxConnections: MAX_CONNECTIONS, idleMs: IDLE_MS },
	};
	const guard = spawn(process.execPath, [resolve("cli/guard.ts")], {
		env: { ...process.env, GANGLION_GUARD: JSON.stringify(settings) },
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

interface BareOptions {
	upstream: string;
	port: number;
	folder: string;
	unixSocket?: string;
}

const serveBare = ({ upstream, port, folder, ...socket }: BareOptions): Promise<Served> =>
	serve(
		{
			...{ name: "bare", compatibilityDate: "2026-11-01", ...socket },
			modules: [{ name: "index.js", file: resolve("tools/bench/floor.js") }],
			vars: { UPSTREAM: upstream },
		},
		port,
		folder,
	);
