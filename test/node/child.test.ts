/** The end of processes that this one has started. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { hasEnded, isRunning, stop } from "../../scripts/child.ts";

const start = (script: string) => spawn(process.execPath, ["-e", script], { stdio: "ignore" });
const FOR_EVER = "setInterval(() => {}, 1_000)";

it("stops a process that runs", async () => {
	const child = start(FOR_EVER);
	const pid = child.pid ?? 0;
	expect([hasEnded(child), isRunning(pid)]).toEqual([false, true]);
	await stop(child);
	expect([hasEnded(child), isRunning(pid)]).toEqual([true, false]);
});

it.skipIf(process.platform === "win32").each([
	["by itself", "process.exit(3)", undefined],
	["by a signal", FOR_EVER, "SIGKILL"],
] as const)("does not wait for a process that has ended %s", async (_, script, signal) => {
	const child = start(script);
	const ended = once(child, "exit");
	if (signal) child.kill(signal);
	await ended;
	expect(hasEnded(child)).toBe(true);
	await stop(child);
});

it.each([0, -1, Number.NaN])("no process has the id %d", (pid) => {
	expect(isRunning(pid)).toBe(false);
});
