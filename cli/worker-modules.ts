/** The modules of the Worker that a command runs. */
import { join } from "node:path";
import { completeModulesIn, modulesIn } from "../miniflare/modules.ts";
import { DIST } from "../scripts/root.ts";
import type { WorkerSpec } from "../scripts/workerd.ts";

/** Set by the build of the package. */
declare const IS_PACKAGE: boolean | undefined;

/** In the package: the built Worker. In the project: the sources, bundled into `folder` at each start, with the
 * console. */
export async function workerModules(folder: string): Promise<WorkerSpec["modules"]> {
	// In this form esbuild removes the imports from the package.
	if (typeof IS_PACKAGE === "undefined") {
		const [{ buildConsole }, { bundleWorker }] = await Promise.all([
			import("../scripts/console.ts"),
			import("../scripts/worker.ts"),
		]);
		await Promise.all([bundleWorker(folder), buildConsole()]);
		return modulesIn(folder);
	}
	return completeModulesIn(join(DIST, "worker"));
}
