/** Portkey's gateway from its npm package. It is not a dependency of the project: the bench installs it once, in a folder of its own. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "peer");
const PACKAGE = join(FOLDER, "node_modules/@portkey-ai/gateway");
const START = join(PACKAGE, "build/start-server.js");
const INSTALL_MS = 300_000;

/** The file that starts the gateway. If it cannot be installed, reports the reason to `say` and returns `undefined`. */
export function installPeer(say: (text: string) => void): string | undefined {
	if (existsSync(START)) return START;
	say("  installing @portkey-ai/gateway, for the bench alone");
	try {
		const quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"];
		execFileSync("npm", ["install", ...quiet], { cwd: FOLDER, stdio: "pipe", timeout: INSTALL_MS });
	} catch (error) {
		const { stderr = "" } = error as { stderr?: Buffer | string };
		const [reason = "npm failed"] = String(stderr).split("\n").filter(Boolean);
		say(`  skipped: @portkey-ai/gateway cannot be installed (${reason})`);
		return undefined;
	}
	return existsSync(START) ? START : undefined;
}

export function peerVersion(): string | undefined {
	const file = join(PACKAGE, "package.json");
	if (!existsSync(file)) return undefined;
	return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
