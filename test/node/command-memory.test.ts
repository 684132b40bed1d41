/** What commands of the project must not keep in memory after their start. Linux shows it. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { memoryOfTree, treeOf } from "../../tools/bench/process.ts";
import { runScript, stopScripts } from "./script.ts";

const MEGABYTE = 1_000_000;
const COLLECTED_MS = 30_000;

const folders: string[] = [];
const children: ChildProcess[] = [];
afterEach(() => {
	stopScripts();
	for (const child of children.splice(0)) child.kill("SIGKILL");
	for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

describe.runIf(process.platform === "linux")("memory of a command", () => {
	it("of `npm run serve` has no bundler when the gateway is ready", async () => {
		const folder = mkdtempSync(join(tmpdir(), "ganglion-command-"));
		folders.push(folder);
		const config = join(folder, "ganglion.json");
		writeFileSync(config, JSON.stringify({ vars: { DEFAULT_BACKEND: "simulator" } }));
		const { pid, until } = runScript("scripts/serve.ts", [
			...["--config", config, "--state", join(folder, "state"), "--port", String(await freePort())],
		]);
		expect(await until(/ready on/)).toMatch(/ready on/);
		// A bundler is native code, so it is mapped from its file.
		expect(readFileSync(`/proc/${pid}/maps`, "utf8")).not.toMatch(/rolldown|esbuild|lightningcss/);
		expect(treeOf(pid).filter(({ line }) => line.includes("bundle.ts"))).toEqual([]);
	});

	it("of the guard keeps V8's space for new objects small under load", () => {
		const sizeWith = (start: string): number => {
			const program = `
				import { getHeapSpaceStatistics } from "node:v8";
				import { keepNewSpaceSmall } from ${JSON.stringify(pathToFileURL("scripts/collect-garbage.ts").href)};
				${start}
				let kept = [];
				for (let number = 0; number < 1_000_000; number++) {
					kept.push({ number });
					if (kept.length > 50_000) kept = [];
				}
				console.log(getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space").space_size);`;
			const options = ["--no-warnings", "--input-type=module", "--eval", program];
			return Number(execFileSync(process.execPath, options, { encoding: "utf8" }));
		};
		// A collection that is under way may hold a few pages more.
		expect(sizeWith("keepNewSpaceSmall();")).toBeLessThan(8 * MEGABYTE);
		expect(sizeWith("")).toBeGreaterThan(8 * MEGABYTE);
	});

	it("of wrangler has no garbage of its builds", async () => {
		const [collecting, other] = [await filled("--import", preload), await filled()];
		const held = (child: ChildProcess): number => memoryOfTree(child.pid ?? 0).own[0]?.bytes ?? 0;
		await expect.poll(() => held(collecting), { timeout: COLLECTED_MS }).toBeLessThan(60 * MEGABYTE);
		expect(held(other)).toBeGreaterThan(160 * MEGABYTE);
	});
});

const preload = pathToFileURL("scripts/collect-when-idle.mjs").href;

/** A process that has 160 MB of buffers which it no longer needs, and does nothing. */
async function filled(...options: string[]): Promise<ChildProcess> {
	const program = `
		let buffers = Array.from({ length: 40 }, () => Buffer.alloc(4e6, 1));
		console.log(buffers.length);
		buffers = undefined;
		setInterval(() => {}, 1e9);`;
	const child = spawn(process.execPath, [...options, "--eval", program], {
		stdio: ["ignore", "pipe", "inherit"],
		env: { ...process.env, MALLOC_TRIM_THRESHOLD_: "131072" },
	});
	children.push(child);
	await once(child.stdout, "data");
	return child;
}
