/**
 * `npm install` of the project runs this: it is the script `prepare` of the workspace `console`, because the package that users install
 * must have none. If Node is too old for the project's scripts, a newer one is installed outside of the project, and linked to where npm's
 * scripts and `npx` find it first.
 */
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { installOnce } from "./install-once.mjs";
import { isNewEnough } from "./node-version.mjs";

const NODE = "24.21.0";
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "ganglion");

if (!isNewEnough()) linkNode();

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
