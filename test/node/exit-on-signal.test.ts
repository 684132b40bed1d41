/** A tool that a signal ends, for example that of `timeout`, leaves no process of the agent that it runs. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { isRunning } from "../../scripts/child.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Runs an agent with a process of its group, and one that has left the group. */
const tool = (home: string) => `
	import { exitOnSignals } from ${JSON.stringify(join(ROOT, "scripts/exit-on-signal.ts"))};
	import { environment, start } from ${JSON.stringify(join(ROOT, "tools/clients/agent/process.ts"))};
	exitOnSignals();
	const home = ${JSON.stringify(home)};
	const agent = "sleep 600 & echo $! >> pids; setsid sleep 600 & echo $! >> pids; echo $$ >> pids; wait";
	start({ command: "/bin/sh", args: ["-c", agent], env: environment(home), folder: home, timeoutMs: 600_000 });
`;

it.skipIf(process.platform !== "linux").each([
	["SIGTERM", 143],
	["SIGINT", 130],
	["SIGHUP", 129],
] as const)("%s ends the processes of a running agent", async (signal, status) => {
	const home = mkdtempSync(join(tmpdir(), "ganglion-agent-"));
	const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", tool(home)], {
		stdio: ["ignore", "ignore", "inherit"],
	});
	const pids = (): number[] => {
		try {
			return readFileSync(join(home, "pids"), "utf8").trim().split("\n").map(Number);
		} catch {
			return [];
		}
	};
	onTestFinished(() => {
		child.kill("SIGKILL");
		for (const pid of pids().filter(isRunning)) process.kill(pid, "SIGKILL");
		rmSync(home, { recursive: true, force: true });
	});
	await expect.poll(() => pids().length, { timeout: 30_000 }).toBe(3);
	expect(pids().map(isRunning)).toEqual([true, true, true]);
	const ended = once(child, "exit");
	child.kill(signal);
	expect(await ended).toEqual([status, null]);
	await expect.poll(() => pids().filter(isRunning), { timeout: 30_000 }).toEqual([]);
});
