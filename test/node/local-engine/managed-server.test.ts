/** A server that ends: what is printed about it, and the end of a script that waits for it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { ManagedServer } from "../../../scripts/local-engine/managed-server.ts";
import { runScript, stopScripts } from "../script.ts";

const folder = mkdtempSync(join(tmpdir(), "ganglion-managed-"));
let server: ManagedServer | undefined;
afterEach(async () => {
	await server?.stop();
	stopScripts();
	rmSync(folder, { recursive: true, force: true });
});

it("prints the lines of a server that cannot start once until they change, with the count", async () => {
	const printed: string[] = [];
	// The port and the time are other ones at each start.
	const messages = ["no file", "no file", "no file", "no memory", "no memory"];
	server = new ManagedServer({
		...{ name: "llama-server", folder, key: "k", started() {}, ended() {} },
		command: (port) => ({
			command: "/bin/sh",
			args: ["-c", `echo "$(date +%s%N) port ${port}: ${messages.shift() ?? "no memory"}" >&2; exit 1`],
			env: {},
		}),
		log: (line) => printed.push(line),
	});
	await expect.poll(() => printed.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(5);
	const withLines = (pause: number, message: string): RegExp =>
		new RegExp(
			`^llama-server has ended \\(exit 1\\)\\. It starts again in ${pause} ms\\.\\n\\d+ port \\d+: ${message}$`,
		);
	expect(printed.slice(0, 5)).toEqual([
		expect.stringMatching(withLines(250, "no file")),
		"llama-server has ended (exit 1), 2 times in a row with the same output. It starts again in 500 ms.",
		"llama-server has ended (exit 1), 3 times in a row with the same output. It starts again in 1000 ms.",
		expect.stringMatching(withLines(2_000, "no memory")),
		"llama-server has ended (exit 1), 2 times in a row with the same output. It starts again in 4000 ms.",
	]);
}, 30_000);

it("that must be killed keeps the script running that stops it", async () => {
	const script = runScript(join(import.meta.dirname, "stopped-server.ts"), []);
	expect([await script.exit, await script.until(/(?!)/)]).toEqual([0, expect.stringContaining("stopped")]);
}, 30_000);

it("that has never answered reports the failure of its first start", async () => {
	let starts = 0;
	server = new ManagedServer({
		...{ name: "llama-server", folder, key: "k", started() {}, ended() {}, log() {} },
		command: () => ({ command: "/bin/sh", args: ["-c", `echo "start ${++starts}" >&2; exit 1`], env: {} }),
	});
	await expect(server.ready()).rejects.toThrow("llama-server has ended (exit 1): start 1");
});

it("that has answered waits for the next start if one fails, and reports the second failure", async () => {
	let starts = 0;
	const first = (port: number): string =>
		`require("http").createServer((_, answer) => answer.end()).listen(${port}, "127.0.0.1")`;
	server = new ManagedServer({
		...{ name: "llama-server", folder, key: "k", started() {}, ended() {}, log() {} },
		command: (port) =>
			++starts === 1
				? { command: process.execPath, args: ["-e", first(port)], env: {} }
				: { command: "/bin/sh", args: ["-c", `echo "start ${starts}" >&2; exit 1`], env: {} },
	});
	await server.ready();
	await expect(server.restart()).rejects.toThrow("llama-server has ended (exit 1): start 3");
});
