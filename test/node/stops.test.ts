/** A stop of the process that an operator, a container or a supervisor knows ends all processes of the gateway. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { CLI } from "./cli/run.ts";

/** The folder of a command has six characters at its end. */
const TEMPORARY = expect.stringMatching(/^ganglion-.{6}$/);
const PATIENCE = { timeout: 60_000 };

let folder = "";
let children: ChildProcess[] = [];
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-stops-"));
	mkdirSync(join(folder, "tmp"));
	mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
	symlinkSync(resolve("cli/ganglion.mjs"), join(folder, "node_modules/.bin/ganglion"));
});
afterEach(() => {
	for (const { pid } of children) {
		try {
			if (pid !== undefined) process.kill(-pid, "SIGKILL");
		} catch {
			// The group has ended.
		}
	}
	children = [];
	rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** Runs a command of npm in a process group of its own. */
function run(command: string, args: readonly string[], env: Record<string, string> = {}) {
	const child = spawn(command, args, {
		cwd: folder,
		detached: true,
		stdio: ["ignore", "pipe", "pipe"],
		env: { ...process.env, TMPDIR: join(folder, "tmp"), ALLOW_ANONYMOUS: "true", ...env },
	});
	children.push(child);
	let output = "";
	for (const stream of [child.stdout, child.stderr])
		stream.on("data", (chunk) => {
			output += chunk;
		});
	return { child, output: () => output };
}

const answers = (url: string): Promise<boolean> =>
	fetch(url).then(
		() => true,
		() => false,
	);

/** The command lines of this test's processes of the runtime: their configuration is in the temporary folder. */
const runtimes = (): string[] =>
	execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })
		.split("\n")
		.filter((line) => line.includes("workerd") && line.includes(join(folder, "tmp")));

describe("SIGKILL", () => {
	it.each<[string, string, readonly string[]]>([
		["the command", process.execPath, [resolve(CLI), "serve"]],
		["the command, with two workers", process.execPath, [resolve(CLI), "serve", "--workers", "2"]],
		["npx", "npm", ["exec", "--offline", "--", "ganglion", "serve"]],
	])("to %s ends the runtime and what listens, and its temporary files", async (_, command, args) => {
		const port = await freePort();
		const state = ["--port", String(port), "--state", join(folder, "state")];
		const { child, output } = run(command, [...args, ...state], { DEFAULT_BACKEND: "simulator" });
		await expect.poll(output, PATIENCE).toContain("Open files");
		expect(runtimes().length).toBeGreaterThan(0);
		child.kill("SIGKILL");
		await expect.poll(runtimes, PATIENCE).toEqual([]);
		await expect.poll(() => answers(`http://127.0.0.1:${port}/health`), PATIENCE).toBe(false);
		await expect.poll(() => readdirSync(join(folder, "tmp")), PATIENCE).not.toContainEqual(TEMPORARY);
	});
});

describe("SIGTERM", () => {
	it.each([
		["npx", ["exec", "--offline", "--", "ganglion", "serve"]],
		["npx, with two workers", ["exec", "--offline", "--", "ganglion", "serve", "--workers", "2"]],
		["npm start", ["run", "start", "--"]],
	])("to %s ends what listens, and its files", async (_, args) => {
		writeFileSync(join(folder, "package.json"), '{"private":true,"scripts":{"start":"ganglion serve"}}');
		const port = await freePort();
		const url = `http://127.0.0.1:${port}/health`;
		const state = ["--port", String(port), "--state", join(folder, "state")];
		const { child, output } = run("npm", [...args, ...state], { DEFAULT_BACKEND: "simulator" });
		await expect.poll(output, PATIENCE).toContain("Open files");
		expect(await answers(url)).toBe(true);
		child.kill("SIGTERM");
		await expect.poll(() => answers(url), PATIENCE).toBe(false);
		await expect.poll(() => readdirSync(join(folder, "tmp")), PATIENCE).toEqual([]);
	});

	it("to `ganglion try` ends its temporary gateway", async () => {
		const engine = createServer((request) => void request.resume());
		await new Promise<void>((listening) => engine.listen(0, "127.0.0.1", listening));
		const connected = new Promise((received) => engine.once("request", received));
		const { port } = engine.address() as AddressInfo;
		const flags = ["--backend", `gpu=http://127.0.0.1:${port}/v1`, "--route", "*=gpu", "--no-local-engines"];
		const { child } = run(
			process.execPath,
			[resolve(CLI), "try", "@cf/meta/llama-3.1-8b-instruct-fast", "hi", ...flags],
			{ GANGLION_URL: "" },
		);
		const exit = new Promise((done) => child.once("exit", done));
		await connected;
		const connections = () => new Promise<number>((done) => engine.getConnections((_, count) => done(count)));
		expect(await connections()).toBe(1);
		child.kill("SIGTERM");
		expect(await exit).toBe(143);
		await expect.poll(connections, PATIENCE).toBe(0);
		expect(readdirSync(join(folder, "tmp"))).toEqual([]);
		engine.close();
	});
});
