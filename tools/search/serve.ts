/** A gateway of a tool: `ganglion serve` as built, open to this machine, on the simulator. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { hasEnded } from "../../scripts/child.ts";
import { freePort } from "../../scripts/free-port.ts";
import { DIST } from "../../scripts/root.ts";

export interface ServedGateway {
	url: string;
	process: ChildProcess;
	stop(signal?: NodeJS.Signals): Promise<void>;
}

/** `settings`: beside those of an open gateway on the simulator. `options`: of `ganglion serve`. */
export async function serveGateway(
	state: string,
	port?: number,
	settings: Readonly<Record<string, string>> = {},
	options: readonly string[] = [],
): Promise<ServedGateway> {
	const own = port ?? (await freePort());
	const child = spawn(
		process.execPath,
		[join(DIST, "cli/index.js"), "serve", "--port", String(own), "--state", state, ...options],
		{
			stdio: ["ignore", "pipe", "inherit"],
			env: {
				...process.env,
				ALLOW_ANONYMOUS: "true",
				DEFAULT_BACKEND: "simulator",
				LIMITS: '{"requests_per_minute":"none"}',
				...settings,
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
			if (hasEnded(child)) return;
			const pids = signal === "SIGKILL" ? descendants(child.pid ?? 0) : [child.pid ?? 0];
			for (const pid of pids) killIfRunning(pid, signal);
			await ended;
		},
	};
}

/** The process and all that it has started (Linux). */
function descendants(pid: number): number[] {
	const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
	return [pid, ...children.flatMap((child) => descendants(Number(child)))];
}

function killIfRunning(pid: number, signal: NodeJS.Signals): void {
	try {
		process.kill(pid, signal);
	} catch {
		// It has ended by itself.
	}
}
