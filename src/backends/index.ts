/** The backends, and the tasks of each target. A backend is loaded before its first call. */
import { AiError } from "../core/errors.ts";
import { isLeftOut } from "../core/left-out.ts";
import { own } from "../core/own.ts";
import type { Backend, BackendServices, BackendTasks, Target } from "./backend.ts";
import { LOADERS } from "./loaders.ts";

const loaders: Readonly<Partial<Record<string, () => Promise<Backend>>>> = LOADERS;

/** Kept here, because each `import()` of a loaded module costs time, too. */
const loaded = new Map<string, Backend>();

/** Loads the backends of all kinds among the targets. Returns nothing if all are loaded. */
export function loadBackends(targets: readonly Pick<Target, "kind">[]): Promise<void> | undefined {
	return targets.every(({ kind }) => loaded.has(kind)) ? undefined : loadAll(targets);
}

/**
 * A module is evaluated once and belongs to no request: a request that is cancelled does not affect the loading. Throws 5007
 * for a kind that this build leaves out: the start refuses a configuration with it, but an account's key may need it.
 */
async function loadAll(targets: readonly Pick<Target, "kind">[]): Promise<void> {
	for (const { kind } of targets) {
		if (loaded.has(kind)) continue;
		const load = isLeftOut(kind) ? undefined : own(loaders, kind);
		if (!load) throw new AiError("noSuchModel", `This deployment has no backends of kind "${kind}"`);
		loaded.set(kind, await load());
	}
}

interface BoundTasks {
	services: BackendServices;
	tasks: BackendTasks;
}

/** The tasks of each target. Many requests have the same target (`route.ts`). */
const bound = new WeakMap<Target, BoundTasks>();

/** The tasks that the backend of the target supports there. It must be loaded ({@link loadBackends}). */
export function tasksOf(target: Target, services: BackendServices): BackendTasks {
	const known = bound.get(target);
	if (known?.services === services) return known.tasks;
	const backend = loaded.get(target.kind);
	if (!backend) throw new Error(`The backend of kind "${target.kind}" is not loaded`);
	const tasks = backend(target, services);
	bound.set(target, { services, tasks });
	return tasks;
}
