/** A gateway of a tool: `ganglion serve` as built, open to this machine, on the simulator. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { freePort } from "../../scripts/free-port.ts";
import { DIST } from "../../scripts/root.ts";

export interface ServedGateway {
	url: string;
	process: ChildProcess;
	stop(signal?: NodeJS.Signals): Promise<void>;
}

export async function serveGateway(state: string, port?: number): Promise<ServedGateway> {
	const own = port ?? (await freePort());
	const child = spawn(
		process.execPath,
		[join(DIST, "cli/index.js"), "serve", "--port", String(own), "--state", state],
		{
			stdio: ["ignore", "pipe", "inherit"],
			// A group of its own, so that a signal reaches all its processes.
			detached: true,
			env: {
				...process.env,
				ALLOW_ANONYMOUS: "true",
				DEFAULT_BACKEND: "simulator",
				LIMITS: '{"requests_per_minute":"none"}',
			},
		},
	);
	await new Promise<void>((ready, fail) => {
		child.once("exit", (code) => fail(new Error(`the gateway ended with ${code}`)));
		child.stdout.on("data", (text: Buffer) => {
			if (text.includes("Ganglion is ready on")) ready();
		});
	});
	return {
		url: `http://127.0.0.1:${own}`,
		process: child,
		async stop(signal = "SIGTERM") {
			const ended = once(child, "exit");
			if (child.exitCode !== null || child.signalCode !== null) return;
			process.kill(-(child.pid ?? 0), signal);
			await ended;
		},
	};
}
