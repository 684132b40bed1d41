/**
 * Serves the models on loopback. `GANGLION_ENGINE` of the environment has the settings as JSON, because other users of the machine can
 * read arguments.
 */
import { serve } from "@hono/node-server";
import { createApp } from "./app.ts";
import { Metrics } from "./metrics.ts";
import { ModelPool, type PoolLimits } from "./pool.ts";

interface Settings extends PoolLimits {
	port: number;
	key: string;
}

const { port, key, ...limits }: Settings = JSON.parse(process.env.GANGLION_ENGINE ?? "{}");
// Processes of models need no key.
delete process.env.GANGLION_ENGINE;

/** Longer than a client keeps an idle connection. */
const KEEP_ALIVE_MS = 600_000;

const metrics = new Metrics();
// The gateway that has started this process writes these lines to its own output.
const pool = new ModelPool(limits, metrics, (name, state) => console.log(`model: ${name} is ${state}`));
const server = serve({
	fetch: createApp({ pool, metrics, key }).fetch,
	...{ port, hostname: "127.0.0.1" },
	serverOptions: { requestTimeout: 0, keepAliveTimeout: KEEP_ALIVE_MS },
});

function stop(): void {
	pool.close();
	server.close();
	process.exit(0);
}
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, stop);
process.on("exit", () => pool.close());
