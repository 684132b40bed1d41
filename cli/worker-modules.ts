/** The modules of the Worker that a command runs. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { completeModulesIn, modulesIn } from "../miniflare/modules.ts";
import { endWithThisProcess } from "../scripts/parent.ts";
import { DIST, ROOT } from "../scripts/root.ts";
import { stopWith } from "../scripts/stop-with.ts";
import type { WorkerSpec } from "../scripts/workerd.ts";

/** Set by the build of the package. */
declare const IS_PACKAGE: boolean | undefined;

/** In the package: the built Worker. In the project: that of the sources, in `folder`, with the console. */
export async function workerModules(folder: string): Promise<WorkerSpec["modules"]> {
	if (typeof IS_PACKAGE !== "undefined") return completeModulesIn(join(DIST, "worker"));
	return bundled("worker", folder).catch((error: Error) => stopWith(error.message));
}

/** The modules of the Worker that converts documents. */
export async function converterModules(folder: string): Promise<WorkerSpec["modules"]> {
	if (typeof IS_PACKAGE !== "undefined") return modulesIn(join(DIST, "documents"));
	return bundled("documents", folder);
}

/** In another process, whose memory is free afterwards. */
async function bundled(kind: "worker" | "documents", folder: string): Promise<WorkerSpec["modules"]> {
	const bundler = spawn(process.execPath, [join(ROOT, "scripts/bundle.ts"), kind, folder], {
		stdio: ["ignore", "inherit", "inherit"],
	});
	endWithThisProcess(bundler);
	const [code]: (number | null)[] = await once(bundler, "exit");
	if (code !== 0) throw new Error("The Worker cannot be built from the sources.");
	return modulesIn(folder);
}
