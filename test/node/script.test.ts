/** What a test starts does not outlive it. */
import { resolve } from "node:path";
import { expect, it } from "vitest";
import { isRunning } from "../../scripts/child.ts";
import { runScript } from "./script.ts";

it.each(["SIGTERM", "SIGKILL"] as const)(
	"a script ends with the process that runs it, by %s",
	async (signal) => {
		const code = `
		import { runScript } from ${JSON.stringify(resolve("test/node/script.ts"))};
		console.log("pid", runScript("--eval", ["setInterval(() => {}, 1000)"]).pid);
	`;
		const parent = runScript("--input-type=module", ["--eval", code]);
		const [, pid] = /pid (\d+)/.exec(await parent.until(/pid \d+/)) ?? [];
		expect(isRunning(Number(pid))).toBe(true);
		parent.kill(signal);
		await expect.poll(() => isRunning(Number(pid))).toBe(false);
	},
);
