/**
 * `node scripts/bundle.ts worker|documents FOLDER`: bundles a Worker into a folder, for a command that then runs it. `worker`: also builds
 * the console. It is a process of its own because the bundler, with all that it has read, takes 450 MB, which the command would keep.
 */
import { buildConsole } from "./console.ts";
import { bundleWorker, CONVERTER_ENTRY } from "./worker.ts";

const [kind, folder = ""] = process.argv.slice(2);
try {
	if (kind === "documents") await bundleWorker(folder, { entry: CONVERTER_ENTRY });
	else await Promise.all([bundleWorker(folder, { isWithConverter: true }), buildConsole()]);
} catch (error) {
	// The message shows the place in the sources. A stack of the bundler would hide it.
	if (!(error instanceof Error && "errors" in error)) throw error;
	console.error(error.message);
	process.exitCode = 1;
}
