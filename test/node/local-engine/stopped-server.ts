/** A script that stops a server which ignores SIGTERM. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ManagedServer } from "../../../scripts/local-engine/managed-server.ts";

const folder = mkdtempSync(join(tmpdir(), "ganglion-stopped-"));
const program = (port: number): string =>
	`process.on("SIGTERM", () => {}); require("http").createServer((_, answer) => answer.end()).listen(${port}, "127.0.0.1")`;
const server = new ManagedServer({
	...{ name: "a server", folder, key: "k", started() {}, ended() {}, log() {} },
	command: (port) => ({ command: process.execPath, args: ["-e", program(port)], env: {} }),
});
await server.ready();
await server.stop();
rmSync(folder, { recursive: true, force: true });
console.log("stopped");
