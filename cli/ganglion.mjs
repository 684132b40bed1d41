#!/usr/bin/env node
/**
 * The program of `package.json`'s `bin`. npm keeps a link to it, also for the repository, where `npm run build` writes the command: a link
 * to a file that is not there yet would stay dead.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const command = new URL("../dist/cli/index.js", import.meta.url);
if (existsSync(command)) await import(command.href);
else {
	console.error(
		`error: ganglion is not built: run \`npm run build\` in ${fileURLToPath(new URL("..", import.meta.url))}`,
	);
	process.exitCode = 1;
}
