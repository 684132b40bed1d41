/**
 * `npm install` of the project runs this. The scripts are TypeScript, and some have `import.meta.main`: Node runs them from 24.2. If Node
 * is older, a newer one is installed outside of the project, and linked to where npm's scripts and `npx` find it first.
 */
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { installOnce } from "./install-once.mjs";

const [MAJOR, MINOR] = [24, 2];
const NODE = "24.21.0";
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "ganglion");

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < MAJOR || (major === MAJOR && minor < MINOR)) linkNode();

function linkNode() {
	const folder = join(CACHE, `node-${NODE}-${process.platform}-${process.arch}`);
	const manifest = { private: true, allowScripts: { node: true } };
	installOnce(folder, { "package.json": JSON.stringify(manifest) }, "install", `node@${NODE}`);
	const program = process.platform === "win32" ? "node.exe" : "node";
	const link = join(fileURLToPath(new URL("../node_modules/.bin", import.meta.url)), program);
	mkdirSync(dirname(link), { recursive: true });
	rmSync(link, { force: true });
	symlinkSync(join(folder, "node_modules/node/bin", program), link);
}
