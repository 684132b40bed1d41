/**
 * Installs agents from npm, each version into its own folder outside the project, because they are not dependencies of the project. A
 * complete installation is reused.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { type AgentName, PACKAGES } from "./packages.ts";

const run = promisify(execFile);
const INSTALL_MS = 600_000;
const Manifest = z.object({ version: z.string() });

export interface Installed {
	version: string;
	/** The file to execute. */
	command: string;
}

/** `version`: "latest", or a version of the package; absent: the pinned one. Throws npm's own message if it fails. */
export async function install(agent: AgentName, cache: string, version?: string): Promise<Installed> {
	const { command, installScript, name, version: pinned } = PACKAGES[agent];
	const exact = version === undefined ? pinned : await resolveVersion(name, version);
	const folder = join(cache, `${agent}-${exact}`);
	const marker = join(folder, "complete");
	if (!existsSync(marker)) {
		rmSync(folder, { recursive: true, force: true });
		mkdirSync(folder, { recursive: true });
		// npm runs only the install scripts of packages that the folder's manifest allows.
		const manifest = { private: true, allowScripts: installScript ? { [name]: true } : {} };
		writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
		await npm(["install", "--no-audit", "--no-fund", "--save-exact", `${name}@${exact}`], folder);
		writeFileSync(marker, "");
	}
	const installed = readFileSync(join(folder, "node_modules", name, "package.json"), "utf8");
	return {
		version: Manifest.parse(JSON.parse(installed)).version,
		command: join(folder, "node_modules", ".bin", command),
	};
}

async function resolveVersion(name: string, version: string): Promise<string> {
	return z.string().parse(JSON.parse(await npm(["view", `${name}@${version}`, "version", "--json"])));
}

async function npm(args: string[], folder?: string): Promise<string> {
	const { stdout } = await run("npm", args, {
		...(folder !== undefined && { cwd: folder }),
		timeout: INSTALL_MS,
	});
	return stdout;
}
