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
		await Promise.all([bundleWorker(folder, { isWithConverter: true }), buildConsole()]);
		return modulesIn(folder);
	}
	return completeModulesIn(join(DIST, "worker"));
}

/** The modules of the Worker that converts documents. */
export async function converterModules(folder: string): Promise<WorkerSpec["modules"]> {
	if (typeof IS_PACKAGE === "undefined") {
		const { bundleWorker, CONVERTER_ENTRY } = await import("../scripts/worker.ts");
		await bundleWorker(folder, { entry: CONVERTER_ENTRY });
		return modulesIn(folder);
	}
	return modulesIn(join(DIST, "documents"));
}
