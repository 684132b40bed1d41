/**
 * `node scripts/bundle.ts worker|documents FOLDER`: writes a Worker to a folder, for a command that then runs it. `worker`: also builds the
 * console. Sources that `npm run build` has built are not bundled again. It is a process of its own because the bundler, with all that it has
 * read, takes 450 MB, which the command would keep.
 */
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { modulesIn } from "../miniflare/modules.ts";
import { equalBuild } from "./build-record.ts";
import { buildConsole } from "./console.ts";
import { DIST } from "./root.ts";
import { BUILDS, bundleWorker, ENTRY } from "./worker.ts";

const [kind, folder = ""] = process.argv.slice(2);
try {
	if (kind === "documents") await writeWorker(kind, folder);
	else await Promise.all([writeWorker("worker", folder), buildConsole()]);
} catch (error) {
	// The message shows the place in the sources. A stack of the bundler would hide it.
	if (!(error instanceof Error && "errors" in error)) throw error;
	console.error(error.message);
	process.exitCode = 1;
}

async function writeWorker(kind: keyof typeof BUILDS, folder: string): Promise<void> {
	const built = join(DIST, kind);
	const isBuilt = () => equalBuild(built, JSON.stringify(BUILDS[kind]), ENTRY) !== undefined;
	// Another process may build at the same time. It forgets the build that is there before it changes the files.
	if (isBuilt() && isCopied(built, folder) && isBuilt()) return;
	rmSync(folder, { recursive: true, force: true });
	await bundleWorker(folder, BUILDS[kind]);
}

function isCopied(from: string, to: string): boolean {
	mkdirSync(to, { recursive: true });
	try {
		for (const { name, file } of modulesIn(from)) copyFileSync(file, join(to, name));
		return true;
	} catch {
		return false;
	}
}
